"""Schemas of records, each with its references, and the known schemas of a partition.

Also find the schema of a record in Confluent's wire format, and the start of its data.

    byte 0     bytes 1-4                    then
    0          the schema's id, big-endian  the data; before that of Protobuf, the message's indexes

A value that names its schema by a GUID is rejected.
"""

from __future__ import annotations

import zlib
from collections.abc import Container, Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any, Final, NamedTuple

from perceptron_core import DamagedError
from perceptron_core.formats.packed import pack, seal, unpack, unseal
from service.formats.plain_values import varint
from service.messages.rejection import Reason, Rejection
from service.stream.protocol import Record

ID_END: Final = 5
"""Position of the data after the id."""
_ID: Final = 0
_MAX_INDEXES: Final = 100
_MAX_BYTES: Final = 32 << 20
"""Largest schema with its references: twice what is read from a registry."""


def key_of(value: bytes) -> bytes:
    """Return the key of a value's schema: the magic byte and the schema's id.

    Raises
    ------
    Rejection
        The value does not begin with the magic byte and an id.

    """
    if value[:1] != b"\0":
        shown = f"byte {value[0]}" if value else "nothing"
        raise Rejection(
            Reason.NO_SCHEMA, f"expected the magic byte 0 of the Schema Registry wire format, got {shown}"
        )
    if len(value) < ID_END:
        raise Rejection(Reason.NO_SCHEMA, f"the value ends within the schema's id: {len(value)} bytes")
    return value[:ID_END]


def keys_of(records: Iterable[Record]) -> set[bytes]:
    """Return the keys of the schemas of records; records in other formats have none."""
    keys = {record.value[:ID_END] for record in records if record.value and record.value[0] == _ID}
    return {key for key in keys if len(key) == ID_END}


def name_of(key: bytes) -> str:
    r"""Return the number of a key, as the registry shows it.

    >>> name_of(b"\x00\x00\x00\x01\x02")
    '258'
    """
    return str(int.from_bytes(key[1:], "big"))


def message_indexes(data: bytes, start: int) -> tuple[tuple[int, ...], int]:
    """Read the indexes of a message in its Protobuf file; return them and the start of the data.

    They are a count and as many indexes, as zig-zag variable-length integers; the count 0 means the first
    message.

    >>> message_indexes(bytes([0, 8]), 0), message_indexes(bytes([4, 2, 0, 8]), 0)
    (((0,), 1), ((1, 0), 3))
    """
    try:
        count, start = _zigzag(data, start)
        if count == 0:
            return (0,), start
        if not 0 < count <= _MAX_INDEXES:
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
    """The language of a schema, by its name in a registry."""

    AVRO = "AVRO"
    PROTOBUF = "PROTOBUF"
    JSON = "JSON"
    UNUSABLE = "UNUSABLE"
    """A schema that cannot be compiled; its only part has the reason."""


class Schema(NamedTuple):
    """A self-contained schema."""

    kind: str
    """One of `SchemaKind`; a registry may have others."""
    parts: tuple[bytes, ...]
    """The schemas it refers to, then the schema itself.

    Avro and JSON: texts. Protobuf: each a serialized `FileDescriptorProto`.
    """


def to_bytes(schema: Schema) -> bytes:
    """Serialise a schema."""
    return seal(_KIND, _VERSION, zlib.compress(pack([schema.kind, list(schema.parts)])))


def from_bytes(data: bytes) -> Schema:
    """Return the schema of bytes from `to_bytes`. Raises `DamagedError`."""
    _, body = unseal(_KIND, range(1, _VERSION + 1), data)
    unpacked = zlib.decompressobj()
    try:
        packed = unpacked.decompress(body, _MAX_BYTES)
        kind, parts = unpack(packed if unpacked.eof else b"")  # empty: damaged
        return Schema(kind, tuple(parts))
    except (ValueError, TypeError, zlib.error) as error:
        raise DamagedError(f"unreadable schema: {error}") from error


MAX_KEPT: Final = 100
"""Number of schemas in a snapshot, the last used ones: others are fetched again when needed."""


class Schemas:
    """Known schemas, and the readers made from them.

    Parameters
    ----------
    topics
        The topics whose records have schemas.

    """

    def __init__(self, topics: Container[str]) -> None:
        self._topics = topics
        self._known: dict[bytes, Schema] = {}
        """Known schemas by key, the last used one last."""
        self._readers: dict[str, dict[bytes, Any]] = {}

    def __getitem__(self, key: bytes) -> Schema | None:
        return self._known.get(key)

    def readers(self, kind: str) -> dict[bytes, Any]:
        """Return the dictionary of readers of a kind, by key; they are dropped with their schemas."""
        return self._readers.setdefault(kind, {})

    def mark_used(self, records: Sequence[Record]) -> list[bytes]:
        """Mark the schemas that a batch needs as used; return the keys of the unknown ones."""
        needed = sorted(keys_of(record for record in records if record.topic in self._topics))
        if len(self._known) > 1:
            self._known |= {key: self._known.pop(key) for key in needed if key in self._known}
        return [key for key in needed if key not in self._known]

    def add(self, schemas: Mapping[bytes, Schema]) -> None:
        """Add schemas; one with a known key replaces the old one."""
        for key, schema in schemas.items():
            self._forget(key)
            self._known[key] = schema

    def state(self) -> list[Any]:
        """Return the last used schemas as plain values, and drop the others."""
        for key in [*self._known][:-MAX_KEPT]:
            self._forget(key)
        return [[key, schema.kind, list(schema.parts)] for key, schema in self._known.items()]

    def restore(self, state: Iterable[Sequence[Any]] | None) -> None:
        """Restore the schemas of a state; None: no schemas."""
        for key in list(self._known):
            self._forget(key)
        self._known |= {key: Schema(kind, tuple(parts)) for key, kind, parts in state or ()}

    def _forget(self, key: bytes) -> None:
        self._known.pop(key, None)
        for readers in self._readers.values():
            readers.pop(key, None)
