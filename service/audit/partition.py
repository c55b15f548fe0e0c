"""The state of one input partition under audit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from service.audit.committed.eras import Era
from service.audit.committed.history import CommitHistory
from service.audit.counts import BatchCounts
from service.audit.findings import Place
from service.audit.inputs import PartitionInput
from service.audit.matching.cases import Compared
from service.audit.matching.outputs import Found
from service.audit.matching.window import JoinWindow
from service.audit.spans import BatchSpans


@dataclass(slots=True, eq=False)
class Partition:
    """An input partition."""

    number: int
    log_topic: str
    """Where its checkpoint log lies."""
    history: CommitHistory
    eras: Sequence[Era]
    """The settings under which it was processed."""
    first: Mapping[str, int]
    """Where its input begins, by topic."""
    counts: BatchCounts
    spans: BatchSpans
    window: JoinWindow
    input: PartitionInput
    ahead: Mapping[str, int]
    """The group's committed offsets when they were last read."""
    ends: Mapping[str, int]
    """Where its input ended when the audit began, by topic."""

    def note_prediction(self, event: Place, found: Found) -> None:
        """Take the prediction of an event at a place."""
        self.spans.note(self.counts.number(event), found)

    def note_compared(self, compared: Compared) -> None:
        """Take a comparison of a prediction with a label."""
        number = self.counts.note_compared(compared)
        if number is not None and compared.output.is_outcome:
            self.spans.note(number, compared.output)

    @property
    def topics_before(self) -> Mapping[str, int]:
        """Return how far topics were read that are read no more: the settings named others then."""
        return {topic: end for topic, end in self.history.offsets.items() if end and topic not in self.first}

    def is_beyond(self, place: Place) -> bool:
        """Return whether a record lies in this input, behind the last commit that is known."""
        is_here = place.partition == self.number and place.topic in self.first
        return is_here and (place.offset or 0) >= self.ahead.get(place.topic, 0)

    @property
    def is_complete(self) -> bool:
        """Return whether all input that was ever read is there."""
        begins = not (any(self.first.values()) or self.topics_before or self.was_created_again)
        return begins and not self.has_holes

    @property
    def has_holes(self) -> bool:
        """Return whether records are gone between others: then any of them may have been."""
        return any(self.counts.gone.values())

    @property
    def was_created_again(self) -> bool:
        """Return whether more records were processed than an input topic can have held."""
        history, consumed = self.history, self.history.consumed or {}
        more = any(consumed.get(topic, 0) > offset for topic, offset in history.offsets.items())
        return more or history.begun_again_at >= 0

    @property
    def has_restarted(self) -> bool:
        """Return whether the model has processed fewer records than the input holds: it had a predecessor."""
        consumed = self.history.consumed
        if consumed is None:
            return False
        return any(consumed.get(topic, 0) < number for topic, number in self.input.n_by_topic.items())

    def not_verifiable(self) -> Iterator[str]:
        """Yield what cannot be judged, and why."""
        for topic, first in self.first.items():
            if first:
                yield f"not verifiable: {Place(topic, self.number)}: records 0-{first - 1} are deleted"
        for topic, end in self.topics_before.items():
            place = Place(topic, self.number)
            yield f"not verifiable: {place}: records 0-{end - 1} were read under earlier settings"
        for topic, n_gone in self.counts.gone.items():
            if n_gone:
                what = f"{n_gone} records that were processed are gone from between others, as by compaction"
                yield f"not verifiable: {Place(topic, self.number)}: {what}"

    def unread(self) -> Iterator[tuple[str, int]]:
        """Yield how many offsets behind the last commit the group has yet to process, by place."""
        for topic, end in self.ends.items():
            n_offsets = end - self.ahead.get(topic, self.first[topic])
            if n_offsets > 0:
                yield str(Place(topic, self.number)), n_offsets
