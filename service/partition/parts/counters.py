"""Cumulative counts of a model, restored with it; their summaries; warnings about misleading results."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from functools import partial
from typing import Any, Final, NamedTuple

from service.messages.labels import BINARY, TrueLabel, Vocabulary
from service.partition.examples import Correction, LearnedExamples
from service.partition.parts.part import Part, PartMetric
from service.partition.parts.quality import Calibration, Confusion, Label, ScoreBins, labels_of
from service.redaction import one_line
from service.settings.parts import DecisionSettings
from service.stream.protocol import TopicPartition

_MAX_REJECTED_RATIO: Final = 0.05
MAX_UNMATCHED_RATIO: Final = 0.05
"""Share of labels without an event from which on to warn."""
_MAX_NAMED: Final = 3
_MIN_JUDGED: Final = 100
"""Labels from which on a model is compared with baselines that need no features."""

WINDOW: Final = 1000
"""Labelled predictions in the recent error."""

_ERROR: Final = f"Share of labelled predictions that were wrong: ever, and among the last {WINDOW} labels."
_CALIBRATION_ERROR: Final = "Expected calibration error, of 15 bins; only of models with log-odds."
_LOG_LOSS: Final = "Mean logistic loss of labelled predictions; only of models with log-odds."

MAX_UNMATCHED_IDS: Final = 3
"""How many ids of unmatched labels to remember for warnings."""

_window: Final = partial(deque[bool], maxlen=WINDOW)
_unmatched_ids: Final = partial(deque[str], maxlen=MAX_UNMATCHED_IDS)
KINDS: Final = {"corrected": "corrected", "rejected_labels": "rejected", "late": "late", "orphaned": "orphan"}
"""Names of counts in progress records, the last fields of `Totals`, and the outcome that each counts."""
SCORED: Final = ("predictions", "labelled", "mistakes")
"""Names of the counts that every summary begins with."""
LABELS: Final = ("assumed", "real", *KINDS, "evicted")
"""Kinds of labels that summaries list, and events evicted before their labels could arrive."""


class Totals(NamedTuple):
    """The counts of a summary line."""

    events: int
    labelled: int
    mistakes: int
    rejected: int
    skipped: int = 0
    assumed: int = 0
    """Labelled predictions whose label comes from the timeout."""
    revised: int = 0
    """The change of the number of mistakes by corrections."""
    evicted: int = 0
    """Events evicted before their labels could arrive."""
    received: int = 0
    """Labels that arrived separately from their events."""
    corrected: int = 0
    rejected_labels: int = 0
    """Labels that the model could not learn, as it cannot undo an earlier one."""
    late: int = 0
    orphaned: int = 0

    @classmethod
    def sum_of(cls, each: Iterable[Totals]) -> Totals:
        """Return the sum of counts."""
        return cls(*(sum(column) for column in zip(cls(0, 0, 0, 0), *each, strict=True)))

    def labels(self) -> dict[str, int]:
        """Return the number of labels of each kind that occurs; empty if all are real."""
        counts = {name: count for name in LABELS if name != "real" and (count := getattr(self, name))}
        real = {"real": self.labelled - self.assumed} if self.assumed else {}
        return {name: (counts | real)[name] for name in LABELS if name in counts | real}


def format_labels(labels: Mapping[str, int]) -> str:
    """Format kinds of labels for a line, in parentheses; empty if there are none.

    >>> format_labels({"assumed": 9, "real": 1, "rejected_labels": 1})
    ' (9 assumed, 1 real, 1 rejected labels)'
    """
    counts = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in labels.items())
    return f" ({counts})" if labels else ""


@dataclass(slots=True)
class Counters(Part):
    """The counts of one partition's model since it was created."""

    name = "counters"

    consumed: Counter[str] = field(default_factory=Counter)
    """Records by topic."""
    rejected: Counter[str] = field(default_factory=Counter)
    """Dead letters by reason."""
    skipped: Counter[str] = field(default_factory=Counter)
    """Records skipped by a filter, by topic."""
    labels: Counter[str] = field(default_factory=Counter)
    """Labels by outcome of the join: matched, confirmed, corrected, timed_out, late, orphan, duplicate,
    rejected."""
    predictions: int = 0
    labelled: int = 0
    """Predictions whose truth became known, or was assumed at the timeout."""
    mistakes: int = 0
    """Predictions that were wrong by their first label: the sum of the prequential 0-1 loss."""
    assumed: int = 0
    """Labelled predictions whose truth was assumed at the timeout, without a label."""
    revised: int = 0
    """The change of the number of mistakes by corrections."""
    evicted: int = 0
    """Events evicted before their labels could arrive."""
    unmatched_ids: deque[str] = field(default_factory=_unmatched_ids)
    """The newest ids of unmatched labels."""
    recent: deque[bool] = field(default_factory=_window)
    """For each of the last `WINDOW` labels, whether the prediction was a mistake."""
    calibration: Calibration = field(default_factory=Calibration)
    """Calibration of the labelled predictions with a probability."""
    confusion: Confusion = field(default_factory=Confusion)
    """Confusion matrix of the labelled predictions."""
    score_bins: ScoreBins = field(default_factory=ScoreBins)
    """Scores of the labelled predictions, for two classes."""

    def state(self) -> dict[str, Any]:
        """Return all counts as plain values."""
        return {each.name: _plain(getattr(self, each.name)) for each in fields(self)}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore what `state` returned."""
        for each in fields(self):
            make: Any = each.default_factory
            value = state[each.name]
            setattr(self, each.name, value if make is MISSING else getattr(make, "from_state", make)(value))

    def counts(self) -> Mapping[str, int]:
        """Return the counts for progress records; rare ones only if they are not 0."""
        return self.counts_of({each.name: getattr(self, each.name) for each in fields(self)})

    @classmethod
    def counts_of(cls, state: Mapping[str, Any]) -> Mapping[str, int]:
        """Return the counts of a state."""
        counts = {name: state[name] for name in SCORED}
        labels, revised = state["labels"], state["revised"]
        later = {
            "skipped": sum(state["skipped"].values()),
            "assumed": state["assumed"],
            "evicted": state["evicted"],
            **{name: labels.get(outcome, 0) for name, outcome in KINDS.items()},
        }
        counts["rejected"] = sum(state["rejected"].values())
        counts |= {"known_mistakes": state["mistakes"] + revised} if revised else {}
        return counts | {name: count for name, count in later.items() if count}

    def metrics(self) -> Sequence[PartMetric]:
        """Return the counts, error ratios and calibration as metrics."""
        errors = {"lifetime": self.error_ratio(), str(WINDOW): self.recent_error_ratio()}
        calibration = self.calibration.expected_calibration_error()
        return [
            PartMetric("messages_consumed", "Records consumed.", self.consumed, "topic"),
            PartMetric("messages_rejected", "Messages sent to the dead letters.", self.rejected, "reason"),
            PartMetric("messages_skipped", "Records that where or start_from skips.", self.skipped, "topic"),
            PartMetric("labels", "Labels received, by outcome.", self.labels, "outcome"),
            PartMetric("evicted_events", "Events evicted before their labels could arrive.", self.evicted),
            PartMetric("predictions", "Predictions made.", self.predictions),
            PartMetric("mistakes", "Predictions that differ from their first label.", self.mistakes),
            PartMetric("prequential_error_ratio", _ERROR, errors, "window", is_gauge=True),
            PartMetric("expected_calibration_error_ratio", _CALIBRATION_ERROR, calibration, is_gauge=True),
            PartMetric("log_loss", _LOG_LOSS, self.calibration.log_loss(), is_gauge=True),
        ]

    def continue_from(self, counts: Mapping[str, int]) -> None:
        """Set committed counts whose records are lost; counting continues from them.

        Corrections may take back as many mistakes as the replay has found.
        """
        known = self.known_mistakes()
        self.predictions, self.labelled, self.mistakes = (counts[name] for name in SCORED)
        self.revised = max(known, counts.get("known_mistakes", self.mistakes)) - self.mistakes

    def totals(self) -> Totals:
        """Return the counts of a summary line."""
        labels = self.labels
        return Totals(
            self.predictions,
            self.labelled,
            self.mistakes,
            self.rejected.total(),
            self.skipped.total(),
            self.assumed,
            self.revised,
            self.evicted,
            labels.total() - labels["timed_out"],
            *map(labels.__getitem__, KINDS.values()),
        )

    def consume(self, counts: Mapping[TopicPartition, int]) -> None:
        """Count consumed records, by topic and partition."""
        for (topic, _), count in counts.items():
            self.consumed[topic] += count

    def observe(self, learned: LearnedExamples) -> None:
        """Count labelled predictions and their corrections, in order."""
        start = 0
        for correction in learned.corrections:
            if correction.n_before > start:
                self._observe(learned[start : correction.n_before])
                start = correction.n_before
            self._correct(correction)
        self._observe(learned[start:] if start else learned)

    def _correct(self, correction: Correction) -> None:
        """Move a prediction to its corrected truth; the label also counts among the recent labels."""
        is_mistake = correction.predicted != correction.truth
        self.revised += is_mistake - (correction.predicted != correction.before)
        self.recent.append(is_mistake)
        self.calibration.take_back(correction)
        self.confusion.correct(correction)
        self.score_bins.correct(correction)

    def _observe(self, learned: LearnedExamples) -> None:
        self.score(learned.mistakes)
        self.calibration.observe(learned)
        self.confusion.observe(learned)
        self.score_bins.observe(learned)

    def score(self, mistakes: Sequence[bool]) -> None:
        """Count labelled predictions by whether each was a mistake."""
        self.labelled += len(mistakes)
        self.mistakes += mistakes.count(True)
        self.recent.extend(mistakes)

    def known_mistakes(self) -> int:
        """Mistakes according to the final labels, corrections included."""
        return self.mistakes + self.revised

    def error_ratio(self) -> float:
        """Prequential error since the start according to the final labels, 0-1; 0 before the first label."""
        return self.known_mistakes() / self.labelled if self.labelled else 0.0

    def recent_error_ratio(self) -> float:
        """Prequential error over the last `WINDOW` labels, 0-1."""
        return sum(self.recent) / len(self.recent) if self.recent else 0.0


def _plain(counted: Any) -> Any:  # noqa: ANN401
    if isinstance(counted, Counter):
        return dict(counted)
    return (
        [*counted] if isinstance(counted, deque) else counted if isinstance(counted, int) else counted.state()
    )


def data_warnings(rejected: int, records: int, classes: Sequence[str], truths: Collection[TrueLabel]) -> str:
    """Return a warning of many rejected records, or of classes without a label; empty if there is none."""
    warnings = []
    if rejected > _MAX_REJECTED_RATIO * records:
        warnings.append(f"{rejected:,} of {records:,} records ({rejected / records:.1%}) were rejected")
    truth_of = Vocabulary(classes).truth
    if unseen := [repr(name) for name in classes if truth_of(name) not in truths]:
        more = len(unseen) - _MAX_NAMED
        named = unseen if more <= 0 else [*unseen[:_MAX_NAMED], f"{more:,} others"]
        warnings.append(f"no label has the class {' or '.join(named)}")
    return "; ".join(warnings)


def label_warnings(totals: Totals, unmatched_ids: Iterable[str]) -> str:
    """Return a warning of many unmatched labels, with some ids, and of evicted events; empty without any."""
    warnings, unmatched = [], totals.late + totals.orphaned
    if unmatched > MAX_UNMATCHED_RATIO * totals.received:
        ids = ", ".join(one_line(repr(each)) for each in [*dict.fromkeys(unmatched_ids)][-_MAX_NAMED:])
        skipped = "refer to events that events.where or start_from skips, " if totals.skipped else ""
        warnings.append(
            f"{unmatched:,} of {totals.received:,} labels match no event: they may be late by "
            f"events.timestamp and labels.timestamp, {skipped}or have other ids: {ids}"
        )
    if totals.evicted:
        warnings.append(
            f"{totals.evicted:,} events were evicted before their labels could arrive: raise max_pending"
        )
    return "; ".join(warnings)


def concerns(
    cells: Mapping[tuple[Label, Label], int],
    name_of: Callable[[Label], str],
    model: str,
    decisions: Sequence[DecisionSettings] = (),
    last_label: int | None = None,
    positive: TrueLabel = True,  # noqa: FBT002 - a class
) -> list[tuple[str, str]]:
    """Return warnings, each with a hint, that a model is worse than a baseline or decides on the wrong class.

    Parameters
    ----------
    cells, name_of
        Labelled predictions by (truth, predicted), and the function that names a class.
    model, decisions
        The name of the model, and the summary of its decisions.
    last_label
        The mistakes of the last-label baseline, if they are known.
    positive
        The class of decisions that name none.

    """
    truths = labels_of(cells)
    if truths.total() < _MIN_JUDGED:
        return []
    mistakes = sum(count for (truth, predicted), count in cells.items() if truth != predicted)
    warnings = []
    if worse := _worse_than_baseline(mistakes, +truths, name_of, model, last_label):
        warnings.append(worse)
    names = [repr(decision.name) for decision in decisions if not decision.of]
    [(majority, most), *others] = truths.most_common()
    if names and majority == positive and others:
        summary = f"{', '.join(names)}: about {name_of(majority)!r}, the class of {most:,}"
        rarer = name_of(others[0][0])
        hint = f"put the class to be found last in classes, or set class = {rarer!r}"
        warnings.append((f"{summary} of {truths.total():,} labels", hint))
    return warnings


def _worse_than_baseline(
    mistakes: int, truths: Counter[Label], name_of: Callable[[Label], str], model: str, last_label: int | None
) -> tuple[str, str] | None:
    """Return the warning and hint if a baseline makes fewer mistakes; else None."""
    [(majority, most)], labelled = truths.most_common(1), truths.total()
    name = name_of(majority)
    least, what = labelled - most, f"always predicting {name!r}"
    if last_label is not None and last_label < least:
        least, what = last_label, "repeating the last label"
    if mistakes <= least:
        return None
    hint = "try --model auto, which scales features"
    if most == labelled:
        hint = f"add labels of other classes: all labels are {name!r}"
    elif len(truths) == BINARY and labelled - mistakes < least:
        hint = "the opposite is right more often: check whether labels or classes are reversed"
    elif model == "auto":
        hint = "inspect the most confident mistakes: `perceptron replay FILE --errors 10`"
    return f"{mistakes:,} mistakes in {labelled:,} labels, but {what} makes only {least:,}", hint
