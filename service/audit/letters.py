"""Audit dead letters: each must have a reason, and each refused record exactly one letter."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from typing import Final, NamedTuple

import msgpack

from service.audit.findings import Fault, Findings, Place
from service.messages.dead_letter import (
    EVENT_TIME,
    REASON,
    REPLAYED_FROM,
    SOURCE,
    TRUNCATED,
    marks_of,
    split_headers,
    without_replayed,
)
from service.messages.rejection import SKIPPED, Reason
from service.settings.load import Settings
from service.stream import Headers, Record, Transport

_NOT_SEEN_IN_THE_BYTES: Final = frozenset(
    {Reason.MODEL_ERROR, Reason.OUT_OF_RANGE, Reason.EVENT_TIME_OUT_OF_RANGE}
)
"""Reasons that depend on the model or the clock: the letter is the only witness."""

_DEPENDS_ON_SETTINGS: Final = frozenset({Reason.UNKNOWN_LABEL, Reason.TOO_LARGE, Reason.UNKNOWN_SCHEMA})
"""Reasons that other settings may have given, or a registry that did not know a schema yet."""


class Letter(NamedTuple):
    """What a dead letter says."""

    place: Place
    reason: str
    event_time: str
    """The time of its record; empty in a letter of an earlier release."""
    marks: Headers
    """What it says of its record if that was cut, else nothing."""
    content: Content
    was_moved: bool
    """Whether `dead-letters replay` has moved past it."""

    @property
    def is_cut(self) -> bool:
        """Return whether a part of the record is not here."""
        return bool(self.marks)


class Content(NamedTuple):
    """How much of a record a letter holds, and its SHA-256."""

    digest: bytes
    key_bytes: int
    value_bytes: int
    n_headers: int

    @classmethod
    def of(cls, key: bytes | None, value: bytes | None, headers: Headers) -> Content:
        """Sum up key, value and headers."""
        digest = sha256(msgpack.packb((key, value, headers))).digest()
        return cls(digest, len(key or b""), len(value or b""), len(headers))

    def is_of(self, record: Record, *, is_cut: bool) -> bool:
        """Return whether this is the content of a record, or the beginning of it."""
        key, value, headers = record[4:]
        if is_cut:
            key, value = key and key[: self.key_bytes], value and value[: self.value_bytes]
            headers = headers if self.n_headers else ()
        return self == Content.of(key, value, headers)


class _Moved(NamedTuple):
    """A letter that a replay has moved past: what comes back of it."""

    source: Place
    key: bytes | None
    headers: Headers

    def brings(self, record: Record) -> bool:
        """Return whether a record may be the one that came back."""
        expected = (self.source.topic, self.key, self.headers)
        return expected == (record.topic, record.key, record.headers[:-1])


class Letters:
    """The dead letters by the record that they are of.

    Parameters
    ----------
    moved
        By partition of the dead-letters topic, where the letters begin that no replay has moved past.

    """

    def __init__(self, moved: Mapping[int, int]) -> None:
        self._moved = moved
        self._by_source: dict[Place, list[Letter]] = {}
        self._moved_letters: dict[str, _Moved] = {}
        """Those that have not been seen to come back, by where they lie."""
        self._replayed: dict[Place, int] = {}
        self._any_moved = False
        self._judged: set[Place] = set()
        self.n_read = 0
        self.nameless: list[Place] = []
        """Letters that do not say where they came from."""

    def __contains__(self, source: Place) -> bool:
        """Return whether there is a letter of this record."""
        return source in self._by_source

    @property
    def any_moved(self) -> bool:
        """Return whether a replay has moved past any."""
        return self._any_moved

    def moves_no_clock(self, source: Place) -> bool:
        """Return whether a record was refused for its time: then it moves no partition's event time."""
        return any(
            letter.reason == Reason.EVENT_TIME_OUT_OF_RANGE for letter in self._by_source.get(source, ())
        )

    def add(self, records: Iterable[Record]) -> None:
        """Add dead letters."""
        for record in records:
            self.n_read += 1
            place, (theirs, ours) = Place.of(record), split_headers(record.headers)
            fields = {name: value.decode(errors="replace") for name, value in ours}
            source = _source(fields)
            if source is None:
                self.nameless.append(place)
                continue
            was_moved = record.offset < self._moved.get(record.partition, 0)
            names = [name for name, _ in ours]
            marks = ours[names.index(TRUNCATED) :] if TRUNCATED in names else ()
            content = Content.of(record.key, record.value, theirs)
            letter = Letter(
                place, fields.get(REASON, ""), fields.get(EVENT_TIME, ""), marks, content, was_moved
            )
            self._by_source.setdefault(source, []).append(letter)
            if was_moved:
                self._any_moved = True
                self._moved_letters[str(place)] = _Moved(source, record.key, without_replayed(theirs))

    def note_replayed(self, record: Record) -> None:
        """Note an input record that a replay has sent back: a letter comes back once, unchanged.

        Its value may have been repaired. Other records may have the header as well: of a record that was
        replayed and copied, or of any producer.
        """
        name, value = record.headers[-1]
        place = value.decode(errors="replace")
        moved = self._moved_letters.get(place) if name == REPLAYED_FROM else None
        if moved is not None and moved.brings(record):
            del self._moved_letters[place]
            self._replayed[moved.source] = self._replayed.get(moved.source, 0) + 1

    def judge(self, record: Record, reason: str | None, findings: Findings) -> None:
        """Judge the letters of a record that has some; `reason` is why its bytes are refused, if they are."""
        source = Place.of(record)
        self._judged.add(source)
        for letter in self._by_source[source]:
            for message in _contradictions(letter, record):
                findings.add(Fault.WRONG, letter.place, message)
            if not _is_plausible(letter.reason, reason):
                because = f"is refused as {reason}" if reason else "is a valid message"
                message = f"it says {letter.reason!r}, but {source} {because}"
                findings.add(Fault.WRONG, letter.place, message)

    def count(self, findings: Findings, *, is_complete: bool) -> None:
        """Check that each record has one letter, but for the copies that replays have made.

        A replay brings a letter back, or appends it once more: one original, and a copy for each time that it
        was moved and not brought back. If input is deleted (not `is_complete`), so may be what came back.
        """
        for source, letters in self._by_source.items():
            moved = sum(letter.was_moved for letter in letters)
            most = 1 + moved
            expected = most - self._replayed.get(source, 0)
            if len(letters) != expected if is_complete else len(letters) > most:
                message = f"{source} has {len(letters)} dead letters, {expected} were due"
                fault = Fault.DOUBLED if len(letters) > expected else Fault.MISSING
                findings.add(fault, letters[-1].place, message)

    def of_no_record(self) -> Iterable[tuple[Place, Letter]]:
        """Yield the sources that no judged record was, each with its first letter."""
        for source, letters in self._by_source.items():
            if source not in self._judged:
                yield source, letters[0]


def replay_positions(transport: Transport, settings: Settings) -> tuple[dict[int, int], dict[int, int]]:
    """Return how far `dead-letters replay` has moved through the letters, and their end at that time."""
    topic, group = settings.dead_letters_topic, f"{settings.group}.dead-letters"
    moved, ends = {}, {}
    for partition in range(transport.partition_count(topic)):
        while True:
            found = transport.committed(group, [topic], partition)
            ends[partition] = transport.bounds(topic, partition)[1]
            if found == transport.committed(group, [topic], partition):
                break
        moved[partition] = found.get(topic, 0)
    return moved, ends


def _contradictions(letter: Letter, record: Record) -> Iterator[str]:
    """Yield what a letter says of a record that is not so."""
    source = Place.of(record)
    if not letter.content.is_of(record, is_cut=letter.is_cut):
        yield f"its bytes are not those of {source}"
    if letter.event_time not in {"", str(record.timestamp_ms)}:
        yield f"it says {EVENT_TIME} {letter.event_time}, that of {source} is {record.timestamp_ms}"
    if letter.is_cut and letter.marks != marks_of(*record[4:]):
        yield f"what it says of the whole is not so of {source}"


def _is_plausible(named: str, reason: str | None) -> bool:
    if named in {*_NOT_SEEN_IN_THE_BYTES, reason} - {SKIPPED}:
        return True
    return named in _DEPENDS_ON_SETTINGS and reason in {None, *_DEPENDS_ON_SETTINGS}


def _source(headers: Mapping[str, str]) -> Place | None:
    topic, partition, offset = (headers.get(name, "") for name in SOURCE)
    return Place(topic, int(partition), int(offset)) if partition.isdecimal() and offset.isdecimal() else None
