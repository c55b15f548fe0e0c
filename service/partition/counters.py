"""Cumulative counts that belong to a model: they live and are restored with it, not with a process."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from service.partition.calibration import Calibration
from service.partition.totals import Totals

WINDOW: Final = 1000
"""Labelled predictions in the rolling error."""


def _window() -> deque[bool]:
    return deque(maxlen=WINDOW)


@dataclass(slots=True)
class Counters:
    """The counts of one partition's model since it was created."""

    consumed: Counter[str] = field(default_factory=Counter)
    """Records by topic."""
    rejected: Counter[str] = field(default_factory=Counter)
    """Dead letters by reason."""
    labels: Counter[str] = field(default_factory=Counter)
    """Labels by result of the join: matched, late, orphan, duplicate, corrected, refused."""
    predictions: int = 0
    labelled: int = 0
    """Predictions whose truth became known."""
    mistakes: int = 0
    """Predictions that turned out wrong: the prequential 0-1 loss, summed."""
    recent: deque[bool] = field(default_factory=_window)
    """Whether each of the last `WINDOW` labelled predictions was a mistake."""
    calibration: Calibration = field(default_factory=Calibration)
    """Of the labelled predictions that had a probability."""

    def copy(self) -> Counters:
        """Return a copy that later counting leaves alone."""
        return replace(
            self,
            consumed=self.consumed.copy(),
            rejected=self.rejected.copy(),
            labels=self.labels.copy(),
            recent=self.recent.copy(),
            calibration=self.calibration.copy(),
        )

    def state(self) -> dict[str, Any]:
        """Return all counts as plain values; without `calibration` where no prediction had a probability."""
        state = {
            "consumed": dict(self.consumed),
            "rejected": dict(self.rejected),
            "labels": dict(self.labels),
            "predictions": self.predictions,
            "labelled": self.labelled,
            "mistakes": self.mistakes,
            "recent": list(self.recent),
        }
        return state | {"calibration": self.calibration.state()} if self.calibration.count else state

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Counters:
        """Return the counters that `state` described."""
        counters = cls(**state)
        for name in ("consumed", "rejected", "labels"):
            setattr(counters, name, Counter(state[name]))
        counters.recent = deque(state["recent"], maxlen=WINDOW)
        if "calibration" in state:
            counters.calibration = Calibration.from_state(state["calibration"])
        return counters

    def go_on_from(self, counts: Mapping[str, int]) -> None:
        """Count on from what was committed, where the records that led there are gone."""
        self.predictions, self.labelled, self.mistakes = (
            counts[name] for name in ("predictions", "labelled", "mistakes")
        )

    def totals(self) -> Totals:
        """Return the counts of a closing line."""
        return Totals(self.predictions, self.labelled, self.mistakes, self.rejected.total())

    def score(self, mistakes: Sequence[bool]) -> None:
        """Count predictions whose truth is now known: of each, whether it was a mistake."""
        self.labelled += len(mistakes)
        self.mistakes += sum(mistakes)
        self.recent.extend(mistakes)

    def error_ratio(self) -> float:
        """Prequential error since the beginning, 0-1; 0 before the first label."""
        return self.mistakes / self.labelled if self.labelled else 0.0

    def recent_error_ratio(self) -> float:
        """Prequential error over the last `WINDOW` labelled predictions, 0-1."""
        return sum(self.recent) / len(self.recent) if self.recent else 0.0
