"""An input partition under audit: what each of its records must have become, and which of them are gone."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from math import inf

from service.audit.committed.history import CommitHistory
from service.audit.committed.settings import DatedDecoders, eras_of
from service.audit.counts import DECIDED, DRIFTS, PREDICTIONS, REJECTED, SKIPPED, BatchCounts, BatchSpans
from service.audit.findings import Findings, Place
from service.audit.letters import Letters
from service.audit.matching.cases import AuditedEvent, AuditedLabel, Compared
from service.audit.matching.lanes import Gaps
from service.audit.matching.ledger import Ledger
from service.audit.matching.outputs import Found
from service.audit.matching.window import JoinWindow, Limits
from service.messages.decoder import Incoming
from service.messages.rejection import BEFORE_START, Rejection, Skipped
from service.settings.decisions import DRIFT
from service.settings.load import Settings
from service.stream import Record, Transport
from service.transport.topics import input_topics


@dataclass(frozen=True, slots=True)
class Audit:
    """What the partitions of one audit share."""

    transport: Transport
    settings: Settings
    """Those that the logs do not name are taken from here."""
    n_lanes: int
    """How many partitions the predictions topic has."""
    ledger: Ledger
    letters: Letters
    findings: Findings


class Partition:
    """An input partition.

    Parameters
    ----------
    number, history
        Which, and its checkpoint log.
    first
        Where its input begins, by topic.
    audit
        What it shares with the others.

    Attributes
    ----------
    eras
        The settings under which it was processed.
    ahead
        The group's committed offsets when they were last read.
    ends
        Where its input ended when the audit began, by topic.
    n_by_topic
        Records up to the last commit.
    without_letter
        Bad records that have no dead letter.

    """

    def __init__(self, number: int, history: CommitHistory, first: Mapping[str, int], audit: Audit) -> None:
        self.number = number
        self.history = history
        self.first = first
        self._audit = audit
        self.eras = eras_of(history, audit.settings)
        self._decoders = DatedDecoders(self.eras, history.schemas, history.vectors)
        self._gaps = Gaps(audit.n_lanes)
        self.window = JoinWindow(limits_of(self.eras[0].settings), self._gaps, audit.ledger.release)
        self.counts = BatchCounts(history, first, offsets_are_dense=audit.transport.offsets_are_dense)
        self.spans = BatchSpans()
        self.ahead: Mapping[str, int] = history.offsets
        self.ends = {topic: audit.transport.bounds(topic, number)[1] for topic in first}
        self.n_by_topic: Counter[str] = Counter()
        self.n_letters = 0
        self.without_letter: dict[Place, str] = {}

    def judge(self, record: Record, *, is_ahead: bool) -> None:
        """Judge a record; one that `is_ahead` lies behind the last commit, and may be processed or not."""
        place, letters = Place.of(record), self._audit.letters
        if not is_ahead:
            self.n_by_topic[place.topic] += 1
            self.counts.note_read(place)
        if record.headers and letters.any_moved:
            letters.note_replayed(record)
        message = self._read(record)
        timestamp_ms, reason = record.timestamp_ms, None
        if isinstance(message, Rejection):
            reason = message.reason
        elif message.timestamp_ms is not None:
            timestamp_ms = message.timestamp_ms
        if not (letters.moves_no_clock(place) or (reason and self._decoders.of(record).maps_time)):
            self.window.advance(timestamp_ms, place, is_ahead=is_ahead)
        if place in letters:
            letters.judge(record, reason, self._audit.findings)
            self.n_letters += not is_ahead
            self._count(REJECTED, place, is_ahead=is_ahead)
        elif isinstance(message, Rejection):
            is_skipped = isinstance(message, Skipped)
            if not (is_ahead or is_skipped):
                self.without_letter[place] = message.reason
            self._count(SKIPPED if is_skipped else REJECTED, place, is_ahead=is_ahead)
        elif message.is_label:
            assert message.truth is not None
            gap = self._gaps.present(message.id)
            self.window.label(message.id, AuditedLabel(place, message.truth, timestamp_ms, is_ahead, gap))
        else:
            event = AuditedEvent(
                place, message.id, timestamp_ms, message.truth, message.message_bytes, is_ahead
            )
            self._audit.ledger.expect(self.window.event(event))
            self._count(PREDICTIONS, place, is_ahead=is_ahead)

    def _count(self, name: str, place: Place, *, is_ahead: bool) -> None:
        if not is_ahead:
            self.counts.note(name, place)

    def note_signal(self, record: Record) -> None:
        """Count a drift for the batch that has found it; other signals, and what is none, mean nothing."""
        with suppress(ValueError, KeyError, TypeError, AttributeError):
            signal = json.loads(record.value or b"")
            if signal["type"] == DRIFT:
                ends = {topic: int(end) for topic, end in signal["data"]["offsets"].items()}
                topic = next(topic for topic in self.first if topic in ends)
                self.counts.note(DRIFTS, Place(topic, self.number, ends[topic] - 1))

    def event_id(self, record: Record) -> str | None:
        """Return the id of a valid event."""
        message = self._read(record)
        return None if isinstance(message, Rejection) or message.is_label else message.id

    def _read(self, record: Record) -> Incoming | Rejection:
        """Return a record's message, or why it is none."""
        decoder, start_ms = self._decoders.of(record), self.history.start_ms
        try:
            if not decoder.maps_time and 0 <= record.timestamp_ms < start_ms:
                raise Skipped(BEFORE_START)
            message = decoder.decode(record.value, record)
            timestamp_ms = record.timestamp_ms if message.timestamp_ms is None else message.timestamp_ms
            if 0 <= timestamp_ms < start_ms:
                raise Skipped(BEFORE_START)
        except Rejection as rejection:
            return rejection
        return message

    def note_prediction(self, event: Place, found: Found) -> None:
        """Add the prediction of an event to the answers of the event's batch."""
        self.spans.note(self.counts.number(event), found)
        if found.has_decision:
            self.counts.note(DECIDED, event)

    def note_compared(self, compared: Compared) -> None:
        """Count a comparison of a prediction with a label in the batch of the label."""
        number = self.counts.note_compared(compared)
        if number is not None and compared.output.is_outcome:
            self.spans.note(number, compared.output)

    @property
    def log(self) -> Place:
        """Return where its checkpoint log lies."""
        return Place(self._audit.settings.checkpoints_topic, self.number)

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
        begins = not (any(self._deleted()) or self.topics_before or self.was_created_again)
        return begins and not self.has_holes

    def _deleted(self) -> Iterator[tuple[str, int, int]]:
        """Yield from where to where input is gone, by topic."""
        for topic, first in self.first.items():
            if first > (start := self.history.start.get(topic, 0)):
                yield topic, start, first

    @property
    def has_holes(self) -> bool:
        """Return whether records are gone between others: then any of them may have been."""
        return any(self.counts.gone.values()) or self._lacks_a_later_topic

    @property
    def _lacks_a_later_topic(self) -> bool:
        """Return whether events are gone that were read after events of another topic that are there."""
        is_any_there, start = False, dict(self.history.start)
        for era in self.eras:
            topic = era.settings.events_topic
            first = self.first.get(topic, inf)
            if is_any_there and first > start.get(topic, 0) < era.until.get(topic, 0):
                return True
            is_any_there |= first < era.until.get(topic, 0)
            start |= era.until
        return False

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
        return any(consumed.get(topic, 0) < number for topic, number in self.n_by_topic.items())

    def not_verifiable(self) -> Iterator[str]:
        """Yield what cannot be judged, and why."""
        for topic, start, first in self._deleted():
            yield f"{Place(topic, self.number)}: records {start}-{first - 1} are deleted"
        for topic, end in self.topics_before.items():
            yield f"{Place(topic, self.number)}: records 0-{end - 1} were read under earlier settings"
        for topic, n_gone in self.counts.gone.items():
            if n_gone:
                what = f"{n_gone} records that were processed are gone from between others, as by compaction"
                yield f"{Place(topic, self.number)}: {what}"

    def unread(self) -> Iterator[tuple[str, int]]:
        """Yield how many offsets behind the last commit the group has yet to process, by place."""
        for topic in input_topics(self._audit.settings):
            n_offsets = self.ends[topic] - self.ahead.get(topic, self.first[topic])
            if n_offsets > 0:
                yield str(Place(topic, self.number)), n_offsets


def limits_of(settings: Settings) -> Limits:
    """Return how long events are kept for their labels."""
    return Limits(
        int(settings.label_timeout_seconds * 1000),
        settings.max_pending,
        settings.max_pending_bytes,
        settings.events.truth_on_timeout(settings.classes),
        int(settings.correction_seconds * 1000),
    )
