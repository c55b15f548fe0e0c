"""Dead letters: the bytes of a rejected record, with the reason and its origin as headers.

A dead letter always fits its topic: whole, compressed if necessary, or cut and marked as cut.
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
"""Event time in milliseconds since the Unix epoch; the record's timestamp is the time of writing."""
TRUNCATED: Final = "error.truncated"
ORIGIN_HEADERS: Final = (REASON, MESSAGE, *SOURCE, EVENT_TIME)
"""Headers of every dead letter about its record, in this order, after the producer's headers."""
SIZE: Final = "source.size"
_SHA256: Final = "source.sha256"
_KEY_SIZE: Final = "source.key_size"
_N_HEADERS: Final = "source.headers"
"""Further headers of a cut dead letter: the sizes of value, key and headers before the cut."""
HEADERS: Final = frozenset({*ORIGIN_HEADERS, TRUNCATED, SIZE, _SHA256, _KEY_SIZE, _N_HEADERS})
REPLAYED_FROM: Final = "replayed.from"
"""Header of a replayed record: the position of its dead letter."""

_WHOLE_NUMBER: Final = re.compile(r"-?[0-9]{1,18}")
"""A number of at most 64 bits, from any writer."""
_COMPRESSED_MARGIN: Final = 1.05
_COMPRESSED_FRAME_BYTES: Final = 1024
# The attributes of a Kafka record, and varints of at most 5 or 10 bytes for its length, time, offset, key,
# value and headers.
_RECORD_FRAME_BYTES: Final = 36
# A varint of at most 5 bytes each for the name and the value.
_HEADER_FRAME_BYTES: Final = 10


def split_headers(headers: Headers) -> tuple[Headers, Headers]:
    """Split the headers of a dead letter: the headers of its record, and the headers about it.

    The record may have headers of the same names, for example if a dead letter was sent as an event: those
    about the record are the last ones, from the last reason on.
    """
    names = [name for name, _ in headers]
    n_own = next((n for n, name in enumerate(reversed(names)) if name not in HEADERS), len(names))
    own = names[len(names) - n_own :]
    if REASON in own:
        n_own = own[::-1].index(REASON) + 1
    return headers[: len(names) - n_own], headers[len(names) - n_own :]


class DeadLetter(NamedTuple):
    """A dead letter that was read."""

    record: Record
    reason: str
    message: str
    source_topic: str
    source_partition: int | None
    source_offset: int | None
    full_size: int | None = None
    """Size of the whole value in bytes, if it was cut."""

    event_time_ms: int = 0
    """Event time of the rejected record."""

    @property
    def is_truncated(self) -> bool:
        """Whether the record was cut: such a dead letter cannot be replayed."""
        return self.full_size is not None

    @classmethod
    def of(cls, record: Record) -> DeadLetter:
        """Parse a record of the dead-letters topic; missing fields are empty or None."""
        fields = {name: value.decode(errors="replace") for name, value in split_headers(record.headers)[1]}
        topic, *numbers = (fields.get(name, "") for name in SOURCE)
        partition, offset = (_count(text) for text in numbers)
        full_size = (_count(fields.get(SIZE, "")) or 0) if fields.get(TRUNCATED) == "true" else None
        reason, message = fields.get(REASON, ""), fields.get(MESSAGE, "")
        time = fields.get(EVENT_TIME, "")
        time_ms = int(time) if _WHOLE_NUMBER.fullmatch(time) else record.timestamp_ms
        return cls(record, reason, message, topic, partition, offset, full_size, time_ms)

    @property
    def location(self) -> str:
        """The position of the dead letter, as text."""
        return f"{self.record.topic}[{self.record.partition}]@{self.record.offset}"

    def source_record(self, value: bytes | None) -> Record:
        """Return the rejected record, with this value."""
        source = self.source_topic, self.source_partition or 0, self.source_offset or 0
        return Record(*source, self.event_time_ms, self.record.key, value, self.own_headers())

    def own_headers(self) -> Headers:
        """Return the producer's headers, without the headers of earlier replays."""
        return tuple(each for each in split_headers(self.record.headers)[0] if each[0] != REPLAYED_FROM)


def _count(text: str) -> int | None:
    """Return a non-negative whole number; None for any other text."""
    return int(text) if _WHOLE_NUMBER.fullmatch(text) and text[0] != "-" else None


def dead_letter(record: Record, rejection: Rejection, topic: str) -> Output:
    """Make the dead letter of a rejected record, with its key, value and headers unchanged."""
    origin = (rejection.reason, rejection.message, *record[:4])
    ours = (
        (name, str(value).encode(errors="replace"))
        for name, value in zip(ORIGIN_HEADERS, origin, strict=True)
    )
    return Output(topic, record.key, record.value, (*record.headers, *ours))


def record_bytes(output: Output) -> int:
    """Return the largest size of a record in any stream: key, value, headers and framing."""
    return (
        _RECORD_FRAME_BYTES
        + len(output.key or b"")
        + len(output.value or b"")
        + sum(_HEADER_FRAME_BYTES + len(name.encode()) + len(value) for name, value in output.headers)
    )


def fit(output: Output, limit: RecordLimit) -> tuple[Output, bool]:
    """Return a dead letter that fits its topic, and whether it must be compressed to fit."""
    size = record_bytes(output)
    if size <= limit.n_bytes:
        return output, False
    if limit.n_bytes < size <= limit.uncompressed_bytes and _compressed_bytes(output) <= limit.n_bytes:
        return output, True
    return _cut(output, limit.n_bytes), False


def fit_all(outputs: Sequence[Output], topic: str, limit: RecordLimit) -> tuple[list[Output], bool]:
    """Return outputs with fitting dead letters, and whether they must be compressed to fit."""
    fitted = [fit(output, limit) if output.topic == topic else (output, False) for output in outputs]
    return [output for output, _ in fitted], any(compress for _, compress in fitted)


def _compressed_bytes(output: Output) -> int:
    """Estimate the compressed size of a batch with only this record, rather too high than too low."""
    packer = zlib.compressobj()
    parts = (output.key or b"", output.value or b"", *(part for _, part in output.headers))
    size = sum(len(packer.compress(part)) for part in parts) + len(packer.flush())
    names = sum(len(name.encode()) for name, _ in output.headers)
    return int(size * _COMPRESSED_MARGIN) + names + _COMPRESSED_FRAME_BYTES


def marks_of(key: bytes | None, value: bytes | None, headers: Headers) -> Headers:
    """Return the further headers of a record's dead letter if it is cut."""
    key, value = key or b"", value or b""
    return (
        (TRUNCATED, b"true"),
        (SIZE, b"%d" % len(value)),
        (_SHA256, sha256(value).hexdigest().encode()),
        (_KEY_SIZE, b"%d" % len(key)),
        (_N_HEADERS, b"%d" % len(headers)),
    )


def _cut(output: Output, max_bytes: int) -> Output:
    """Cut a dead letter: reason and origin stay; the rest goes to the key, the producer's headers, the value.

    If the key or the headers would take more than half of the rest, they are dropped for the value.
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
    """Cut the error message, the only header here that may be long, between two characters."""

    def cut(value: bytes) -> bytes:
        return value if len(value) <= max_bytes else value[:max_bytes].decode(errors="ignore").encode()

    return tuple((name, cut(value) if name == MESSAGE else value) for name, value in origin)
