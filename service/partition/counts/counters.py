"""Cumulative counts that belong to a model: they live and are restored with it, not with a process."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import Any, Final

from service.partition.counts.calibration import Calibration
from service.partition.counts.confusion import Confusion
from service.partition.counts.score_bins import ScoreBins
from service.partition.counts.totals import Tally, Totals
from service.partition.examples import LearnedExamples
from service.partition.part import Figure, Part

WINDOW: Final = 1000
"""Labelled predictions in the rolling error."""

_ERROR: Final = f"Share of labelled predictions that were wrong: ever, and among the last {WINDOW}."
_CALIBRATION_ERROR: Final = (
    "Distance of the share of right predictions from their probability, mean of 15 bins; "
    "only of models whose scores are log-odds."
)
_LOG_LOSS: Final = "Mean logistic loss of labelled predictions; only of models whose scores are log-odds."

_window: Final = partial(deque[bool], maxlen=WINDOW)
_OPTIONAL: Final = ("calibration", "confusion", "score_bins")
"""What a state leaves out where nothing was counted; states of older releases lack some of it."""
_READERS: Final[Mapping[str, Callable[[Any], Any]]] = {
    **dict.fromkeys(("consumed", "rejected", "skipped", "labels"), Counter),
    "recent": _window,
    "calibration": Calibration.from_state,
    "confusion": Confusion.from_state,
    "score_bins": ScoreBins.from_state,
}


@dataclass(slots=True)
class Counters(Part):
    """The counts of one partition's model since it was created."""

    name = "counters"

    consumed: Counter[str] = field(default_factory=Counter)
    """Records by topic."""
    rejected: Counter[str] = field(default_factory=Counter)
    """Dead letters by reason."""
    skipped: Counter[str] = field(default_factory=Counter)
    """Records that a filter has left out, by topic."""
    labels: Counter[str] = field(default_factory=Counter)
    """Labels by result of the join: matched, late, orphan, duplicate, corrected, refused, timed_out."""
    predictions: int = 0
    labelled: int = 0
    """Predictions whose truth became known."""
    mistakes: int = 0
    """Predictions that turned out wrong: the prequential 0-1 loss, summed."""
    recent: deque[bool] = field(default_factory=_window)
    """Whether each of the last `WINDOW` labelled predictions was a mistake."""
    calibration: Calibration = field(default_factory=Calibration)
    """Of the labelled predictions that had a probability."""
    confusion: Confusion = field(default_factory=Confusion)
    """Of the labelled predictions; fewer than `labelled` where an older release counted some of them."""
    score_bins: ScoreBins = field(default_factory=ScoreBins)
    """Of the same, where there are two classes."""

    def copy(self) -> Counters:
        """Return a copy that later counting leaves alone."""
        return replace(self, **{name: getattr(self, name).copy() for name in _READERS})

    def state(self) -> dict[str, Any]:
        """Return all counts as plain values, without the parts where nothing was counted."""
        state = {
            "consumed": dict(self.consumed),
            "rejected": dict(self.rejected),
            "labels": dict(self.labels),
            "predictions": self.predictions,
            "labelled": self.labelled,
            "mistakes": self.mistakes,
            "recent": list(self.recent),
        }
        state |= {name: getattr(self, name).state() for name in _OPTIONAL if getattr(self, name).count}
        return state | ({"skipped": dict(self.skipped)} if self.skipped else {})

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Counters:
        """Return the counters that `state` described."""
        return cls(**{name: _READERS.get(name, int)(value) for name, value in state.items()})

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore what `state` returned."""
        found = self.from_state(state)
        for each in fields(self):
            setattr(self, each.name, getattr(found, each.name))

    def counts(self) -> Mapping[str, int]:
        """Return the sums; of skipped records, once there are any."""
        sums = {"predictions": self.predictions, "labelled": self.labelled, "mistakes": self.mistakes}
        return _sums(sums, self.rejected, self.skipped)

    @classmethod
    def counts_of(cls, state: Mapping[str, Any]) -> Mapping[str, int]:
        """Return the sums of a state."""
        sums = {name: state[name] for name in ("predictions", "labelled", "mistakes")}
        return _sums(sums, state["rejected"], state.get("skipped", {}))

    def figures(self) -> Sequence[Figure]:
        """Return what was counted, how often predictions are wrong, and whether probabilities come true."""
        errors = {"lifetime": self.error_ratio(), str(WINDOW): self.recent_error_ratio()}
        calibration = self.calibration
        return [
            Figure("messages_consumed", "Records consumed.", self.consumed, "topic"),
            Figure("messages_rejected", "Messages sent to the dead letters.", self.rejected, "reason"),
            Figure("messages_skipped", "Records that a filter has left out.", self.skipped, "topic"),
            Figure("labels", "Labels received, by what became of them.", self.labels, "outcome"),
            Figure("predictions", "Predictions made.", self.predictions),
            Figure("mistakes", "Predictions that turned out wrong.", self.mistakes),
            Figure("prequential_error_ratio", _ERROR, errors, "window", is_gauge=True),
            Figure(
                "expected_calibration_error_ratio",
                _CALIBRATION_ERROR,
                calibration.expected_calibration_error(),
                is_gauge=True,
            ),
            Figure("log_loss", _LOG_LOSS, calibration.log_loss(), is_gauge=True),
        ]

    def go_on_from(self, counts: Mapping[str, int]) -> None:
        """Count on from what was committed, where the records that led there are gone."""
        self.predictions, self.labelled, self.mistakes = (
            counts[name] for name in ("predictions", "labelled", "mistakes")
        )

    def totals(self) -> Totals:
        """Return the counts of a closing line."""
        sums = self.rejected.total(), self.skipped.total()
        return Totals(self.predictions, self.labelled, self.mistakes, *sums)

    def tally(self) -> Tally:
        """Return what is said of a partition at the end."""
        return Tally(self.consumed.total(), self.totals(), frozenset(self.confusion.truths))

    def observe(self, learned: LearnedExamples) -> None:
        """Count labelled predictions, in order."""
        self.score(learned.mistakes())
        self.calibration.observe(learned)
        self.confusion.observe(learned)
        self.score_bins.observe(learned)

    def score(self, mistakes: Sequence[bool]) -> None:
        """Count predictions whose truth is now known: of each, whether it was a mistake."""
        self.labelled += len(mistakes)
        self.mistakes += mistakes.count(True)
        self.recent.extend(mistakes)

    def error_ratio(self) -> float:
        """Prequential error since the beginning, 0-1; 0 before the first label."""
        return self.mistakes / self.labelled if self.labelled else 0.0

    def recent_error_ratio(self) -> float:
        """Prequential error over the last `WINDOW` labelled predictions, 0-1."""
        return sum(self.recent) / len(self.recent) if self.recent else 0.0


def _sums(sums: Mapping[str, int], rejected: Mapping[str, int], skipped: Mapping[str, int]) -> dict[str, int]:
    found = {**sums, "rejected": sum(rejected.values())}
    return found | ({"skipped": sum(skipped.values())} if skipped else {})
