"""One input partition under audit: what is known of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from service.audit.counts import BatchCounts
from service.audit.history import CommitHistory
from service.audit.inputs import PartitionInput
from service.audit.matching.window import JoinWindow


@dataclass(slots=True, eq=False)
class Partition:
    """An input partition."""

    number: int
    log_topic: str
    """Where its checkpoint log lies."""
    history: CommitHistory
    first: Mapping[str, int]
    """Where its input begins, by topic."""
    counts: BatchCounts
    window: JoinWindow
    input: PartitionInput

    @property
    def is_complete(self) -> bool:
        """Return whether the input is there from its first record on."""
        return not any(self.first.values()) and not self.was_created_again

    @property
    def was_created_again(self) -> bool:
        """Return whether more records were processed than an input topic can have held."""
        history, consumed = self.history, self.history.consumed or {}
        more = any(consumed.get(topic, 0) > offset for topic, offset in history.offsets.items())
        return more or history.begun_again_at >= 0

    @property
    def was_counted_anew(self) -> bool:
        """Return whether the model has processed fewer records than the input holds: it had a predecessor."""
        consumed = self.history.consumed
        if consumed is None:
            return False
        return any(consumed.get(topic, 0) < number for topic, number in self.input.n_by_topic.items())
