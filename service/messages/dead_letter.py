"""Dead letters: the bytes of a refused record, with the reason and its origin as headers.

A dead letter always fits its topic: whole, compressed if need be, or else cut and marked as cut.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence
from hashlib import sha256
from typing import Final, NamedTuple

from service.messages.rejection import Rejection
from service.stream.protocol import Headers, Output, Record, RecordLimit

REASON: Final = "error.reason"
MESSAGE: Final = "error.message"
SOURCE: Final = ("source.topic", "source.partition", "source.offset")
EVENT_TIME: Final = "source.timestamp"
"""Milliseconds since the Unix epoch; a dead letter's own timestamp is the time of writing."""
TRUNCATED: Final = "error.truncated"
ORIGIN_HEADERS: Final = (REASON, MESSAGE, *SOURCE, EVENT_TIME)
"""What every dead letter says of its record, in this order, after the producer's own headers."""
SIZE: Final = "source.size"
_SHA256: Final = "source.sha256"
_KEY_SIZE: Final = "source.key_size"
_N_HEADERS: Final = "source.headers"
"""What a dead letter that was cut says besides; value, key and headers are counted as they were before."""
HEADERS: Final = frozenset({*ORIGIN_HEADERS, TRUNCATED, SIZE, _SHA256, _KEY_SIZE, _N_HEADERS})
REPLAYED_FROM: Final = "replayed.from"
"""In a record that a replay has brought back: where its dead letter lies."""

_WHOLE_NUMBER: Final = re.compile(r"-?[0-9]{1,18}")
"""One of 64 bits, whoever has written it."""
_COMPRESSED_MARGIN: Final = 1.05
_COMPRESSED_FRAME_BYTES: Final = 1024
# Attributes of a Kafka record, and a varint of at most 5 or 10 bytes each for its length, time, offset, key,
# value and headers.
_RECORD_FRAME_BYTES: Final = 36
# A varint of at most 5 bytes each for the name and the value.
_HEADER_FRAME_BYTES: Final = 10


def split_headers(headers: Headers) -> tuple[Headers, Headers]:
    """Split a dead letter's headers into those of its record and its own.

    A record may have headers with the names of a dead letter's own, such as a dead letter that was sent as
    an event: its own are the last ones, beginning with the last reason.
    """
    names = [name for name, _ in headers]
    n_own = next((n for n, name in enumerate(reversed(names)) if name not in HEADERS), len(names))
    own = names[len(names) - n_own :]
    if REASON in own:
        n_own = own[::-1].index(REASON) + 1
    return headers[: len(names) - n_own], headers[len(names) - n_own :]


def without_replayed(headers: Headers) -> Headers:
    """Return a record's headers without what earlier replays have said."""
    return tuple(header for header in headers if header[0] != REPLAYED_FROM)


class DeadLetter(NamedTuple):
    """A dead letter as it reads."""

    record: Record
    reason: str
    message: str
    source_topic: str
    source_partition: int | None
    source_offset: int | None
    full_size: int | None = None
    """Bytes of the whole value, if it was truncated to fit."""

    event_time_ms: int = 0
    """The time of the record that was refused."""

    @property
    def is_truncated(self) -> bool:
        """Whether something of the record was cut off: such a dead letter does not go back."""
        return self.full_size is not None

    @classmethod
    def of(cls, record: Record) -> DeadLetter:
        """Read a record of the dead-letters topic; missing fields are empty or None."""
        fields = {name: value.decode(errors="replace") for name, value in split_headers(record.headers)[1]}
        topic, *numbers = (fields.get(name, "") for name in SOURCE)
        partition, offset = (_count(text) for text in numbers)
        full_size = (_count(fields.get(SIZE, "")) or 0) if fields.get(TRUNCATED) == "true" else None
        reason, message = fields.get(REASON, ""), fields.get(MESSAGE, "")
        time = fields.get(EVENT_TIME, "")
        time_ms = int(time) if _WHOLE_NUMBER.fullmatch(time) else record.timestamp_ms
        return cls(record, reason, message, topic, partition, offset, full_size, time_ms)

    @property
    def place(self) -> str:
        """Where it lies."""
        return f"{self.record.topic}[{self.record.partition}]@{self.record.offset}"

    def source_record(self, value: bytes | None) -> Record:
        """Return the record that was refused, with this value."""
        place = self.source_topic, self.source_partition or 0, self.source_offset or 0
        return Record(*place, self.event_time_ms, self.record.key, value, self.own_headers())

    def own_headers(self) -> Headers:
        """Return the producer's headers."""
        return without_replayed(split_headers(self.record.headers)[0])


def _count(text: str) -> int | None:
    """Return a number from 0 on; None of any other text."""
    return int(text) if _WHOLE_NUMBER.fullmatch(text) and text[0] != "-" else None


def dead_letter(record: Record, rejection: Rejection, topic: str) -> Output:
    """Make the dead letter of a refused record: key, value and the producer's own headers unchanged."""
    origin = (rejection.reason, rejection.message, *record[:4])
    ours = (
        (name, str(value).encode(errors="replace"))
        for name, value in zip(ORIGIN_HEADERS, origin, strict=True)
    )
    return Output(topic, record.key, record.value, (*record.headers, *ours))


def record_bytes(output: Output) -> int:
    """Return what a record takes at most, in any stream: key, value, headers and their framing."""
    return (
        _RECORD_FRAME_BYTES
        + len(output.key or b"")
        + len(output.value or b"")
        + sum(_HEADER_FRAME_BYTES + len(name.encode()) + len(value) for name, value in output.headers)
    )


def fit(output: Output, limit: RecordLimit) -> tuple[Output, bool]:
    """Return a dead letter as it fits its topic, and whether it has to be compressed for that."""
    size = record_bytes(output)
    if size <= limit.n_bytes:
        return output, False
    if limit.n_bytes < size <= limit.uncompressed_bytes and _compressed_bytes(output) <= limit.n_bytes:
        return output, True
    return _cut(output, limit.n_bytes), False


def fit_all(outputs: Sequence[Output], topic: str, limit: RecordLimit) -> tuple[list[Output], bool]:
    """Return outputs, those for the dead letters' topic as they fit, and whether that takes compression."""
    fitted = [fit(output, limit) if output.topic == topic else (output, False) for output in outputs]
    return [output for output, _ in fitted], any(compress for _, compress in fitted)


def _compressed_bytes(output: Output) -> int:
    """Estimate what a batch of this record alone takes, a little more than less."""
    packer = zlib.compressobj()
    parts = (output.key or b"", output.value or b"", *(part for _, part in output.headers))
    size = sum(len(packer.compress(part)) for part in parts) + len(packer.flush())
    names = sum(len(name.encode()) for name, _ in output.headers)
    return int(size * _COMPRESSED_MARGIN) + names + _COMPRESSED_FRAME_BYTES


def marks_of(key: bytes | None, value: bytes | None, headers: Headers) -> Headers:
    """Return what the dead letter of a record says besides if it is cut."""
    key, value = key or b"", value or b""
    return (
        (TRUNCATED, b"true"),
        (SIZE, b"%d" % len(value)),
        (_SHA256, sha256(value).hexdigest().encode()),
        (_KEY_SIZE, b"%d" % len(key)),
        (_N_HEADERS, b"%d" % len(headers)),
    )


def _cut(output: Output, max_bytes: int) -> Output:
    """Cut a dead letter: what says why and where from stays, then the key, the producer's headers, the value.

    A key and the headers that would take more than half of what is left make room for the value.
    """
    own, origin = output.headers[: -len(ORIGIN_HEADERS)], output.headers[-len(ORIGIN_HEADERS) :]
    origin = _with_message_cut(origin, max_bytes // 8)
    key, value = output.key or b"", output.value or b""
    marks = marks_of(key, value, own)
    bare = output._replace(key=b"", value=b"", headers=(*origin, *marks))
    left = max_bytes - record_bytes(bare)
    key = key[: max(0, left // 2)]
    left -= len(key)
    with_own = bare._replace(headers=(*own, *bare.headers))
    if (size := record_bytes(with_own) - record_bytes(bare)) <= left // 2:
        bare, left = with_own, left - size
    return bare._replace(
        key=None if output.key is None else key, value=None if output.value is None else value[: max(0, left)]
    )


def _with_message_cut(origin: Headers, max_bytes: int) -> Headers:
    """Cut the error's message, which is the only one of them that may be long, between two characters."""

    def cut(value: bytes) -> bytes:
        return value if len(value) <= max_bytes else value[:max_bytes].decode(errors="ignore").encode()

    return tuple((name, cut(value) if name == MESSAGE else value) for name, value in origin)
