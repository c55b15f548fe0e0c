"""The drifts of a partition, as a part of its state."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final, Self

from service.batches import RecordBatch
from service.messages.labels import Truth
from service.partition.drift.detector import Detector, Rise
from service.partition.examples import LearnedExamples
from service.partition.part import Figure, Part
from service.settings.decisions import DRIFT
from service.stream import Output

_ERROR: Final = "error"
"""The signal of the share of mistakes."""


class Drift(Part):
    """Finds drifts of the error, and writes a signal of each.

    Labels count in the order in which they come, corrections among them.

    Parameters
    ----------
    topic
        Where signals go.
    labels_between_false_alarms
        As of `Detector`.

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
        """Make the part that the settings describe; None if nothing comes of a drift."""
        drift = settings.drift
        return cls(settings.signals_topic, drift.labels_between_false_alarms) if drift.is_on else None

    def observe(self, learned: LearnedExamples) -> None:
        """Look for drifts in the labelled predictions of a batch."""
        mistakes, seen, place = learned.mistakes(), [], 0
        for each in learned.corrections:
            seen += [*mistakes[place : each.place], each.predicted != each.truth]
            place = each.place
        self._found = self._detector.observe(seen + mistakes[place:] if seen else mistakes)

    def outputs(self, records: RecordBatch) -> Sequence[Output]:
        """Return a signal of each drift that the batch showed; its offsets are those behind the batch."""
        return [self._signal(rise, records) for rise in self._found]

    def _signal(self, rise: Rise, records: RecordBatch) -> Output:
        self.count["drifts"] += 1
        partition = records[0].partition
        data = {
            "signal": _ERROR,
            "partition": partition,
            "offsets": records.next_offsets(),
            **rise._asdict(),
        }
        signal = {"id": f"{DRIFT}-{partition}-{self.count['drifts']}", "type": DRIFT, "data": data}
        return Output(self._topic, str(partition).encode(), json.dumps(signal).encode(), (), partition)

    def state(self) -> dict[str, Any]:
        """Return the whole state as plain values."""
        return {"counts": dict(self.count), _ERROR: self._detector.state()}

    def restore(self, state: Any) -> None:  # noqa: ANN401
        """Restore what `state` returned; None from a snapshot that was made without drifts."""
        super().restore(state["counts"] if state else {})
        if state:
            self._detector.restore(state[_ERROR])

    @classmethod
    def counts_of(cls, state: Any) -> Mapping[str, int | None]:  # noqa: ANN401
        """Return the counts of a part with this state."""
        return super().counts_of(state["counts"])

    def summary(self, cells: Mapping[tuple[Truth, Truth], int]) -> Mapping[str, Any]:  # noqa: ARG002
        """Return how many drifts there were."""
        return self.counts()

    def figures(self) -> Sequence[Figure]:
        """Return the drifts."""
        return [
            Figure(name, text, {_ERROR: self.count[name]}, "signal") for name, text in self.counted.items()
        ]
