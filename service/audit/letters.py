"""Dead letters, audited. In: the dead-letters topic. Out: whether each is due, and due once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import Final, NamedTuple

from service.audit.findings import Fault, Findings, Place
from service.messages.dead_letter import REASON, SOURCE
from service.messages.decoder import Reason
from service.stream import Record

_NOT_SEEN_IN_THE_BYTES: Final = frozenset(
    {Reason.MODEL_ERROR, Reason.OUT_OF_RANGE, Reason.EVENT_TIME_OUT_OF_RANGE}
)
"""Reasons that depend on the model or the clock: the letter is the only witness."""

_DEPENDS_ON_SETTINGS: Final = frozenset({Reason.UNKNOWN_LABEL, Reason.TOO_LARGE})
"""Reasons that other settings may have given."""

REPLAYED_FROM: Final = "replayed.from"
_WHOLE: Final = "source.sha256"


class Letter(NamedTuple):
    """What a dead letter says."""

    place: Place
    reason: str
    digest: str
    """SHA-256 of the record that was refused."""
    was_moved: bool
    """Whether `dead-letters replay` has moved past it."""


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
        self._sources_of_moved: dict[str, Place] = {}
        self._replayed: dict[Place, int] = {}
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
        return bool(self._sources_of_moved)

    def moves_no_clock(self, source: Place) -> bool:
        """Return whether a record was refused for its time: then it moves no partition's event time."""
        return any(
            letter.reason == Reason.EVENT_TIME_OUT_OF_RANGE for letter in self._by_source.get(source, ())
        )

    def add(self, records: Iterable[Record]) -> None:
        """Take letters."""
        for record in records:
            self.n_read += 1
            headers = {name: value.decode(errors="replace") for name, value in record.headers}
            place, source = Place(*record[:3]), _source(headers)
            if source is None:
                self.nameless.append(place)
                continue
            was_moved = record.offset < self._moved.get(record.partition, 0)
            digest = headers.get(_WHOLE) or _digest(record.value)
            letter = Letter(place, headers.get(REASON, ""), digest, was_moved)
            self._by_source.setdefault(source, []).append(letter)
            if was_moved:
                self._sources_of_moved[str(place)] = source

    def note_replayed(self, record: Record) -> None:
        """Note an input record that a replay has brought back."""
        for name, value in record.headers:
            if name == REPLAYED_FROM:
                source = self._sources_of_moved.get(value.decode(errors="replace"))
                if source is not None:
                    self._replayed[source] = self._replayed.get(source, 0) + 1

    def judge(self, record: Record, reason: Reason | None, findings: Findings) -> None:
        """Judge the letters of a record that has some; `reason` is why its bytes are refused, if they are."""
        source = Place(*record[:3])
        self._judged.add(source)
        for letter in self._by_source[source]:
            if letter.digest != _digest(record.value):
                findings.add(Fault.WRONG, letter.place, f"its bytes are not those of {source}")
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


def _is_plausible(said: str, reason: Reason | None) -> bool:
    if said in {*_NOT_SEEN_IN_THE_BYTES, reason}:
        return True
    return said in _DEPENDS_ON_SETTINGS and reason in {None, *_DEPENDS_ON_SETTINGS}


def _source(headers: Mapping[str, str]) -> Place | None:
    topic, partition, offset = (headers.get(name, "") for name in SOURCE)
    return Place(topic, int(partition), int(offset)) if partition.isdecimal() and offset.isdecimal() else None


def _digest(value: bytes | None) -> str:
    return sha256(value or b"").hexdigest()
