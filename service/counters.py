"""Cumulative counts that belong to a model: they live and are restored with it, not with a process."""

from __future__ import annotations

import copy
from collections import Counter, deque
from dataclasses import dataclass, field
from typing import Final

WINDOW: Final = 1000
"""Labelled predictions in the rolling error."""


@dataclass(slots=True)
class Counters:
    """What has happened to one partition's model since it was born."""

    consumed: Counter[str] = field(default_factory=Counter)
    """Records by topic."""
    rejected: Counter[str] = field(default_factory=Counter)
    """Dead letters by reason."""
    labels: Counter[str] = field(default_factory=Counter)
    """Labels by what became of them: matched, late, orphan, duplicate, corrected."""
    predictions: int = 0
    labelled: int = 0
    """Predictions whose truth became known."""
    mistakes: int = 0
    """Predictions that turned out wrong: the prequential 0-1 loss, summed."""
    recent: deque[bool] = field(default_factory=lambda: deque(maxlen=WINDOW))
    """Whether each of the last `WINDOW` labelled predictions was a mistake."""

    def copy(self) -> Counters:
        """Give a copy that later counting leaves alone."""
        return copy.deepcopy(self)

    def score(self, *, mistake: bool) -> None:
        """Count a prediction whose truth is now known."""
        self.labelled += 1
        self.mistakes += mistake
        self.recent.append(mistake)

    def error_ratio(self) -> float:
        """Prequential error since the beginning, 0-1; 0 before the first label."""
        return self.mistakes / self.labelled if self.labelled else 0.0

    def recent_error_ratio(self) -> float:
        """Prequential error over the last `WINDOW` labelled predictions, 0-1."""
        return sum(self.recent) / len(self.recent) if self.recent else 0.0
