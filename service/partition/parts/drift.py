"""Drift: detects that the error of a partition has risen, and writes a signal.

The detector has few false alarms, and its memory grows with the logarithm of the labels.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple, Self

from perceptron_core import DamagedError
from perceptron_core.elementary import log
from service.messages.labels import TrueLabel
from service.partition.parts.part import Part, PartMetric
from service.settings.parts import DRIFT
from service.stream.batches import RecordBatch
from service.stream.protocol import Output, nested

if TYPE_CHECKING:
    from service.partition.examples import LearnedExamples

_ERROR: Final = "error"
"""Name of the signal of a risen error."""
UNIT: Final = 32
"""Labels in the smallest block; each new block is tested for drift."""
_MAX_BLOCKS: Final = 4
"""Blocks of one size, at most; with one more, the oldest two are merged."""


class Rise(NamedTuple):
    """A risen share of mistakes."""

    before: float
    after: float
    labels_before: int
    labels_after: int


class Detector:
    """Compares the newest labels with earlier ones, at every cut between blocks.

    Labels are counted in blocks whose sizes double with age, as in ADWIN (Bifet and Gavaldà 2007). A cut is
    accepted if labels in random order would differ as much, in this direction, with a probability of at most
    UNIT / (cuts · labels_between_false_alarms): by Hoeffding's bound (1963, theorems 1 and 4) e^(-n·kl(q, p))
    for n labels on one side, where q is the share of mistakes among them and p the share among all labels.
    Labels before an accepted cut are forgotten. Only a rise is a drift.

    Parameters
    ----------
    labels_between_false_alarms
        Lower bound of the mean number of labels between alarms on an unchanging stream.

    """

    def __init__(self, labels_between_false_alarms: float) -> None:
        self._units_between = labels_between_false_alarms / UNIT
        self._sizes: list[int] = []
        self._mistakes: list[int] = []
        self._n = self._n_wrong = 0

    def observe(self, mistakes: Sequence[bool]) -> list[Rise]:
        """Take the next labels as mistake or not; return the rises detected."""
        signals = []
        start = 0
        while len(mistakes) - start >= UNIT - self._n:
            end = start + UNIT - self._n
            self._add(self._n_wrong + sum(mistakes[start:end]))
            self._n = self._n_wrong = 0
            start = end
            if (rise := self._cut()) is not None:
                signals.append(rise)
        self._n += len(mistakes) - start
        self._n_wrong += sum(mistakes[start:])
        return signals

    def _add(self, n_wrong: int) -> None:
        """Add a block; merge the oldest two of each size that has too many."""
        sizes, wrong = self._sizes, self._mistakes
        sizes.append(UNIT)
        wrong.append(n_wrong)
        last = len(sizes)
        while last > _MAX_BLOCKS and sizes[last - 1 - _MAX_BLOCKS] == sizes[last - 1]:
            last -= _MAX_BLOCKS
            sizes[last - 1] += sizes[last]
            wrong[last - 1] += wrong[last]
            del sizes[last], wrong[last]

    def _cut(self) -> Rise | None:
        """Forget the labels before the most confident accepted cut; return it if the share rose there."""
        sizes, wrong = self._sizes, self._mistakes
        cuts = len(sizes) - 1
        total, total_wrong = float(sum(sizes)), float(sum(wrong))
        share = total_wrong / total
        spread = total_wrong * (total - total_wrong)
        most_confident = log(max(1.0, cuts * self._units_between))
        cut = 0
        n = n_wrong = 0.0
        for k in range(cuts, 0, -1):
            n += sizes[k]
            n_wrong += wrong[k]
            distance = n_wrong - n * share
            n_before = total - n
            # kl(q, p) <= (q - p)**2 / (p * (1 - p)): most cuts need no logarithm
            if distance * distance * total * total <= most_confident * min(n, n_before) * spread:
                continue
            after = n * _divergence(n_wrong / n, share)
            before = n_before * _divergence((total_wrong - n_wrong) / n_before, share)
            if max(after, before) > most_confident:
                most_confident, cut = max(after, before), k
        if not cut:
            return None
        n_newest, n_newest_wrong = sum(sizes[cut:]), sum(wrong[cut:])
        n_oldest, n_oldest_wrong = sum(sizes[:cut]), sum(wrong[:cut])
        del sizes[:cut], wrong[:cut]
        rise = Rise(n_oldest_wrong / n_oldest, n_newest_wrong / n_newest, n_oldest, n_newest)
        return rise if rise.after > rise.before else None

    def state(self) -> list[Any]:
        """Return everything as plain values."""
        return [self._sizes[:], self._mistakes[:], self._n, self._n_wrong]

    def restore(self, state: Sequence[Any]) -> None:
        """Restore what `state` returned. Raises `DamagedError`."""
        sizes, mistakes, self._n, self._n_wrong = state
        self._sizes, self._mistakes = list(sizes), list(mistakes)
        blocks = [*zip(sizes, mistakes, strict=True), (UNIT - 1, self._n), (self._n, self._n_wrong)]
        if any(not n_wrong <= size for size, n_wrong in blocks) or 0 in sizes:
            raise DamagedError("drift: blocks with more mistakes than labels")


def _divergence(q: float, p: float) -> float:
    """Return kl(q, p), the divergence of two Bernoulli distributions; p is neither 0 nor 1."""
    of_ones = q * log(q / p) if q > 0.0 else 0.0
    return of_ones + ((1.0 - q) * log((1.0 - q) / (1.0 - p)) if q < 1.0 else 0.0)


class Drift(Part):
    """Detects drifts of the error, and writes a signal of each.

    Labels count in order of arrival, corrections included.

    Parameters
    ----------
    topic
        The topic of the signals.
    labels_between_false_alarms
        As in `Detector`.

    """

    name = "drift"
    counted: ClassVar[Mapping[str, str]] = {"drifts": "Drifts found, by what has changed."}

    def __init__(self, topic: str, labels_between_false_alarms: float) -> None:
        super().__init__()
        self._topic = topic
        self._detector = Detector(labels_between_false_alarms)
        self._found: list[Rise] = []

    @classmethod
    def of(cls, settings: Any) -> Self | None:  # noqa: ANN401 - see Part
        """Make the part from the settings; None if drift detection is off."""
        drift = settings.drift
        return cls(settings.signals_topic, drift.labels_between_false_alarms) if drift.is_on else None

    def on_batch(self, learned: LearnedExamples) -> None:
        """Detect drifts in the labelled predictions of a batch."""
        mistakes, seen, start = learned.mistakes, [], 0
        for correction in learned.corrections:
            seen += [*mistakes[start : correction.n_before], correction.predicted != correction.truth]
            start = correction.n_before
        self._found = self._detector.observe(seen + mistakes[start:] if seen else mistakes)

    def outputs(self, records: RecordBatch) -> Sequence[Output]:
        """Return a signal of each drift in the batch, with the offsets after the batch."""
        return [self._signal(rise, records) for rise in self._found]

    def _signal(self, rise: Rise, records: RecordBatch) -> Output:
        self.count["drifts"] += 1
        partition = records[0].partition
        data = {
            "signal": _ERROR,
            "partition": partition,
            "offsets": nested(records.next_offsets()),
            **rise._asdict(),
        }
        signal = {"id": f"{DRIFT}-{partition}-{self.count['drifts']}", "type": DRIFT, "data": data}
        return Output(self._topic, str(partition).encode(), json.dumps(signal).encode(), (), partition)

    def state(self) -> dict[str, Any]:
        """Return the whole state as plain values."""
        return {"counts": dict(self.count), _ERROR: self._detector.state()}

    def restore(self, state: Any) -> None:  # noqa: ANN401
        """Restore a state; None is from a snapshot without this part."""
        super().restore(state["counts"] if state else {})
        if state:
            self._detector.restore(state[_ERROR])

    @classmethod
    def counts_of(cls, state: Any) -> Mapping[str, int | None]:  # noqa: ANN401
        """Return the counts of a state."""
        return super().counts_of(state["counts"])

    def summary(self, cells: Mapping[tuple[TrueLabel, TrueLabel], int]) -> Mapping[str, Any]:  # noqa: ARG002
        """Return the number of drifts."""
        return self.counts()

    def metrics(self) -> Sequence[PartMetric]:
        """Return the number of drifts as a metric."""
        return [
            PartMetric(name, text, {_ERROR: self.count[name]}, "signal")
            for name, text in self.counted.items()
        ]
