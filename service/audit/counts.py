"""The counts in progress records, held against the topics. In: what records made. Out: contradictions."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from typing import Final

from service.audit.findings import Fault, Findings, Place
from service.audit.history import Batch, CommitHistory

PREDICTIONS: Final = "predictions"
REJECTED: Final = "rejected"


class BatchCounts:
    """Counts the predictions and dead letters that each batch of a partition must have made.

    Parameters
    ----------
    history
        The partition's checkpoint log.
    first
        Where the input begins that is still there, by topic.

    """

    def __init__(self, history: CommitHistory, first: Mapping[str, int]) -> None:
        self._batches = [batch for batch in history.batches if batch.sequence > history.begun_again_at]
        self._first = first
        self._ends = {topic: [batch.offsets.get(topic, 0) for batch in self._batches] for topic in first}
        self._made = {name: [0] * (len(self._batches) + 1) for name in (PREDICTIONS, REJECTED)}

    def note(self, name: str, place: Place) -> None:
        """Count what an input record made."""
        assert place.offset is not None
        self._made[name][bisect_right(self._ends[place.topic], place.offset)] += 1

    def total(self, name: str) -> int:
        """Count what all records made."""
        return sum(self._made[name])

    def check(self, findings: Findings) -> None:
        """Hold each batch against the growth of the counts in its progress record."""
        batches = self._batches
        for n in range(1, len(batches)):
            before, batch = batches[n - 1], batches[n]
            if batch.sequence != before.sequence + 1 or not self._has_input(before, batch):
                continue  # a gap is a finding of its own; or a model was put in between
            for name, made in self._made.items():
                grown = batch.counts.get(name, 0) - before.counts.get(name, 0)
                if grown != made[n]:
                    message = f"{name} grew by {grown} in batch {batch.sequence}, its input makes {made[n]}"
                    findings.add(Fault.WRONG, batch.place, message)

    def _has_input(self, before: Batch, batch: Batch) -> bool:
        """Return whether all that a batch has processed is there: none deleted, none of another topic."""
        of_others = [
            batch.offsets[topic] - before.offsets.get(topic, 0)
            for topic in batch.offsets.keys() - self._first.keys()
        ]
        return not any(of_others) and all(
            first <= before.offsets.get(topic, 0) for topic, first in self._first.items()
        )
