"""Schemas that records are written with: each with all it refers to, and those that a partition knows.

Find the schema of a record in Confluent's wire format, and where its data begins.

    byte 0     bytes 1-4                    then
    0          the schema's id, big-endian  the data; before that of Protobuf, the message's indexes

Newer producers name the schema by a GUID instead, in the header `__value_schema_id` (a byte 1 and its 16
bytes; for Protobuf, the message's indexes follow) or in the place of the id. With the header, the value is
the data alone.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from contextlib import suppress
from enum import StrEnum
from typing import Any, Final, NamedTuple

from perceptron_core import DamagedError
from perceptron_core.formats.packed import pack, seal, unpack, unseal
from service.formats.plain_values import uuid_text, varint
from service.messages.rejection import Reason, Rejection
from service.stream.protocol import Headers, Record

HEADER: Final = "__value_schema_id"
ID_END: Final = 5
"""Where the data begins after an id."""
_GUID_END: Final = 17
_ID: Final = 0
_GUID: Final = 1
_MOST_INDEXES: Final = 100


class Frame(NamedTuple):
    """The bytes that precede the data, and their meaning."""

    key: bytes
    """The magic byte and the schema's id or GUID: names a schema."""
    prefix: bytes
    """Where the message's indexes are, if there are any: the header, or the value itself."""
    start: int
    """Where they begin."""
    in_header: bool
    """Whether the value is the data alone."""


def frame(value: bytes, headers: Headers = ()) -> Frame:
    """Find out which schema a value was written with.

    Raises
    ------
    Rejection
        The value does not begin as the format says.

    """
    if headers and (named := next((found for name, found in headers if name == HEADER), None)) is not None:
        return Frame(*_key(named), in_header=True)
    return Frame(*_key(value), in_header=False)


def _key(prefix: bytes) -> tuple[bytes, bytes, int]:
    end = {_ID: ID_END, _GUID: _GUID_END}.get(prefix[0] if prefix else -1)
    if end is None:
        shown = f"byte {prefix[0]}" if prefix else "nothing"
        raise Rejection(
            Reason.NO_SCHEMA, f"expected the magic byte 0 of the Schema Registry wire format, got {shown}"
        )
    if len(prefix) < end:
        raise Rejection(Reason.NO_SCHEMA, f"the value ends within the schema's id: {len(prefix)} bytes")
    return prefix[:end], prefix, end


def keys_of(records: Iterable[Record]) -> set[bytes]:
    """Return the keys of the schemas that records need; records in other formats need none."""
    keys, prefixes = set(), set()
    for record in records:
        if record.headers or not record.value or record.value[0] != _ID:
            with suppress(Rejection):
                keys.add(frame(record.value or b"", record.headers).key)
        else:
            prefixes.add(record.value[:ID_END])
    return keys | {prefix for prefix in prefixes if len(prefix) == ID_END}


def is_guid(key: bytes) -> bool:
    """Return whether a key is a GUID, not an id."""
    return key[0] == _GUID


def name_of(key: bytes) -> str:
    r"""Return a key as the registry writes it: a number, or a GUID with dashes.

    >>> name_of(b"\x00\x00\x00\x01\x02")
    '258'
    """
    return uuid_text(key[1:]) if is_guid(key) else str(int.from_bytes(key[1:], "big"))


def message_indexes(data: bytes, start: int) -> tuple[tuple[int, ...], int]:
    """Read which message of a Protobuf file the data is; return the indexes and where the data begins.

    A count and as many indexes, as zig-zag variable-length integers; the count 0 means the first message.

    >>> message_indexes(bytes([0, 8]), 0), message_indexes(bytes([4, 2, 0, 8]), 0)
    (((0,), 1), ((1, 0), 3))
    """
    try:
        count, start = _zigzag(data, start)
        if count == 0:
            return (0,), start
        if not 0 < count <= _MOST_INDEXES:
            raise Rejection(Reason.INVALID_DATA, f"{count} message indexes")
        indexes = []
        for _ in range(count):
            index, start = _zigzag(data, start)
            indexes.append(index)
    except IndexError:
        raise Rejection(Reason.INVALID_DATA, "the message's indexes cannot be read") from None
    return tuple(indexes), start


def _zigzag(data: bytes, start: int) -> tuple[int, int]:
    value, end = varint(data, start)
    return (value >> 1) ^ -(value & 1), end


_KIND: Final = b"perceptron-schema"
_VERSION: Final = 1


class SchemaKind(StrEnum):
    """The language of a schema, as a registry calls it."""

    AVRO = "AVRO"
    PROTOBUF = "PROTOBUF"
    JSON = "JSON"
    UNUSABLE = "UNUSABLE"
    """One that cannot be compiled; its only part says why."""


class Schema(NamedTuple):
    """A schema that needs nothing else to be understood."""

    kind: str
    """One of `SchemaKind`; a registry may know others."""
    parts: tuple[bytes, ...]
    """The schemas it refers to, then the schema itself.

    Avro and JSON: texts. Protobuf: each a serialized `FileDescriptorProto`.
    """


def to_bytes(schema: Schema) -> bytes:
    """Write a schema down."""
    return seal(_KIND, _VERSION, zlib.compress(pack([schema.kind, list(schema.parts)])))


def from_bytes(data: bytes) -> Schema:
    """Read what `to_bytes` wrote. Raises `DamagedError`."""
    _, body = unseal(_KIND, range(1, _VERSION + 1), data)
    try:
        kind, parts = unpack(zlib.decompress(body))
        return Schema(kind, tuple(parts))
    except (ValueError, TypeError, zlib.error) as error:
        raise DamagedError(f"unreadable schema: {error}") from error


MOST_KEPT: Final = 100
"""Schemas in a snapshot, those last used: one that is needed again is fetched again."""


class Schemas:
    """Known schemas, and the readers made of them.

    Parameters
    ----------
    topics
        Those whose records need schemas.

    Attributes
    ----------
    complaints
        Details of why schemas of the last batch were not found, by key.
    note_defect
        Called for each record whose reading failed with an unexpected error.

    """

    def __init__(self, topics: Container[str]) -> None:
        self._topics = topics
        self._known: dict[bytes, Schema] = {}
        """The one last used is last."""
        self._readers: dict[str, dict[bytes, Any]] = {}
        self.complaints: Mapping[bytes, str] = {}
        self.note_defect: Callable[[], None] = lambda: None

    def __getitem__(self, key: bytes) -> Schema | None:
        return self._known.get(key)

    def readers(self, kind: str) -> dict[bytes, Any]:
        """Return a dictionary for readers of a kind, by key; they are forgotten with their schemas."""
        return self._readers.setdefault(kind, {})

    def missing(self, records: Sequence[Record]) -> list[bytes]:
        """Return the keys of the schemas that a batch needs and that are not known; the others are used."""
        needed = sorted(keys_of(record for record in records if record.topic in self._topics))
        if len(self._known) > 1:
            self._known |= {key: self._known.pop(key) for key in needed if key in self._known}
        return [key for key in needed if key not in self._known]

    def add(self, found: Mapping[bytes, Schema]) -> None:
        """Add schemas; one of a known key takes its place."""
        for key, schema in found.items():
            self._forget(key)
            self._known[key] = schema

    def state(self) -> list[Any]:
        """Return the schemas last used as plain values, and forget the others."""
        for key in [*self._known][:-MOST_KEPT]:
            self._forget(key)
        return [[key, schema.kind, list(schema.parts)] for key, schema in self._known.items()]

    def restore(self, state: Iterable[Sequence[Any]] | None) -> None:
        """Restore the schemas that `state` returned; none if it is None."""
        for key in list(self._known):
            self._forget(key)
        self._known |= {key: Schema(kind, tuple(parts)) for key, kind, parts in state or ()}

    def _forget(self, key: bytes) -> None:
        self._known.pop(key, None)
        for readers in self._readers.values():
            readers.pop(key, None)
