"""A schema with all it refers to, and the bytes in which a checkpoint keeps it."""

from __future__ import annotations

import zlib
from enum import StrEnum
from typing import Final, NamedTuple

from perceptron_core import DamagedError
from perceptron_core.formats.envelope import seal, unseal
from perceptron_core.formats.packed import pack, unpack

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
        raise DamagedError(f"this schema cannot be read: {error}") from error
