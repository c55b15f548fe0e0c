"""The status of a mixture's experts."""

from __future__ import annotations

from typing import NamedTuple


class ExpertStatus(NamedTuple):
    """An expert of a mixture, as it stands."""

    name: str
    weight: float
    """Of its log-odds in the answer that leads; of several classes, the mean."""
    mistakes: int
    """All it made; of several classes, telling each from the others."""
    recent_mistakes: float
    """The same, older ones discounted."""
    recent_labels: float
    """The labels it was judged by, discounted alike."""
    weights: tuple[float, ...] = ()
    """Of its log-odds in the answer of each mixer, as `weight`."""

    @property
    def recent_error(self) -> float | None:
        """Share of recent answers that were wrong, 0-1; None before the first label."""
        return self.recent_mistakes / self.recent_labels if self.recent_labels else None
