"""Judge the input of one partition record by record: which outputs each event or label requires."""

from __future__ import annotations

from collections import Counter

from service.audit.counts import PREDICTIONS, REJECTED, BatchCounts
from service.audit.decoders import DatedDecoders
from service.audit.findings import Findings, Place
from service.audit.letters import Letters
from service.audit.matching.cases import AuditedLabel
from service.audit.matching.gaps import Gaps
from service.audit.matching.ledger import Ledger
from service.audit.matching.window import AuditedEvent, JoinWindow
from service.messages.decoder import Incoming
from service.messages.rejection import Reason, Rejection
from service.stream import Record


class PartitionInput:
    """Judges what one partition of events and labels must have become.

    Parameters
    ----------
    decoders
        Distinguish a valid message from a bad one.
    window, gaps
        Which event a label belongs to, and where outcomes lie.
    counts
        Receives what each record makes.
    ledger, letters
        What is due, and what was refused.
    findings
        Receives contradictions.

    """

    def __init__(
        self,
        decoders: DatedDecoders,
        window: JoinWindow,
        gaps: Gaps,
        counts: BatchCounts,
        *,
        ledger: Ledger,
        letters: Letters,
        findings: Findings,
    ) -> None:
        self._decoders = decoders
        self._window = window
        self._gaps = gaps
        self._counts = counts
        self._ledger = ledger
        self._letters = letters
        self._findings = findings
        self.n_by_topic: Counter[str] = Counter()
        """Records up to the last commit."""
        self.n_letters = 0
        self.without_letter: dict[Place, Reason] = {}
        """Bad records that have no dead letter."""

    def judge(self, record: Record, *, is_ahead: bool) -> None:
        """Judge a record; one that `is_ahead` lies behind the last commit, and may be processed or not."""
        place = Place(*record[:3])
        self._count(place, is_ahead=is_ahead)
        if record.headers and self._letters.any_moved:
            self._letters.note_replayed(record)
        message = self._read(record)
        timestamp_ms, reason = record.timestamp_ms, None
        if isinstance(message, Rejection):
            reason = message.reason
        elif message.timestamp_ms is not None:
            timestamp_ms = message.timestamp_ms
        if not (self._letters.moves_no_clock(place) or (reason and self._decoders.of(record).maps_time)):
            self._window.advance(timestamp_ms, place, is_ahead=is_ahead)
        if place in self._letters:
            self._letters.judge(record, reason, self._findings)
            self._refused(place, is_ahead=is_ahead)
        elif isinstance(message, Rejection):
            if not is_ahead:
                self.without_letter[place] = message.reason
                self._counts.note(REJECTED, place)
        elif message.is_label:
            assert message.truth is not None
            gap = self._gaps.present(message.id)
            label = AuditedLabel(place, message.truth, timestamp_ms, is_ahead, gap)
            self._window.label(message.id, label)
        else:
            event = AuditedEvent(place, message.id, timestamp_ms, message.truth, message.message_bytes)
            self._ledger.expect(self._window.event(event, is_ahead=is_ahead))
            if not is_ahead:
                self._counts.note(PREDICTIONS, place)

    def _count(self, place: Place, *, is_ahead: bool) -> None:
        if not is_ahead:
            self.n_by_topic[place.topic] += 1
            self._counts.note_read(place)

    @property
    def n_records(self) -> int:
        """Return the number of records up to the last commit."""
        return self.n_by_topic.total()

    def event_id(self, record: Record) -> str | None:
        """Return the id of a valid event."""
        message = self._read(record)
        return None if isinstance(message, Rejection) or message.is_label else message.id

    def _read(self, record: Record) -> Incoming | Rejection:
        """Return a record's message, or why it is none."""
        try:
            return self._decoders.of(record).decode(record.value, record)
        except Rejection as rejection:
            return rejection

    def _refused(self, place: Place, *, is_ahead: bool) -> None:
        if not is_ahead:
            self.n_letters += 1
            self._counts.note(REJECTED, place)
