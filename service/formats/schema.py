"""Schemas that records are written with: each with all it refers to, and those that a partition knows."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any, Final, NamedTuple

from perceptron_core import DamagedError
from perceptron_core.formats.packed import pack, seal, unpack, unseal
from service.stream.protocol import Record

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


MOST_KEPT: Final = 100
"""Schemas in a snapshot, those last used: one that is needed again is fetched again."""

_OF_REGISTRY: Final = (b"\x00", b"\x01")
"""Beginnings of keys that the registry knows; there is one other at most for each topic."""

KeysOf = Callable[[Iterable[Record]], set[bytes]]
"""Returns the keys of the schemas that records of one topic need."""


class Schemas:
    """Known schemas, and the readers made of them.

    Parameters
    ----------
    keys_of
        By topic, for those whose records need schemas.

    Attributes
    ----------
    complaints
        Details of why schemas of the last batch were not found, by key.
    note_defect
        Called for each record whose reading failed with an unexpected error.

    """

    def __init__(self, keys_of: Mapping[str, KeysOf]) -> None:
        self._keys_of = dict(keys_of)
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
        keys: set[bytes] = set()
        for topic, keys_of in self._keys_of.items():
            keys |= keys_of(record for record in records if record.topic == topic)
        needed = sorted(keys)
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
        of_registry = [key for key in self._known if key[:1] in _OF_REGISTRY]
        for key in of_registry[:-MOST_KEPT]:
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
