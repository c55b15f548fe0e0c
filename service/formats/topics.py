"""Readers and schemas of the input topics, according to the settings: a record's value becomes a document.

A document is a dictionary with texts as names, or a text. It contains dictionaries, lists, texts, numbers,
booleans and None; `service.mapping` finds events and labels in it. Any error of a value or its schema is a
`Rejection`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

from service.errors import ServiceError
from service.formats.avro import avro_reader
from service.formats.plain_values import TooManyValues
from service.formats.protobuf import ProtobufFile, UnusableSchema
from service.formats.schema import ID_END, Schema, SchemaKind, Schemas, key_of, message_indexes, name_of
from service.messages.json_values import read_json, read_text
from service.messages.rejection import Reason, Rejection
from service.settings.fields import Settings
from service.settings.mapping import LabelSettings

Reader = Callable[[bytes], object]
"""Converts a record's value to a document. Raises `Rejection`."""


READERS: Final[Mapping[str, Reader]] = {"json": read_json, "text": read_text}
"""Readers by the values of `events.format` and `labels.format`; other formats need schemas."""


_log = logging.getLogger(__name__)

KINDS: Final = {"avro": SchemaKind.AVRO, "protobuf": SchemaKind.PROTOBUF, "json-schema": SchemaKind.JSON}
"""The formats with a schema, and the registry's names for them."""

_Read = Callable[[bytes, int], Any]
"""Reads the value that begins at a position of some bytes."""


class WireReader:
    """Reads values in Confluent's wire format. Any error of a value or its schema is a `Rejection`.

    Parameters
    ----------
    value_format
        One of `KINDS`.
    schemas
        The known schemas.

    """

    def __init__(self, value_format: str, schemas: Schemas) -> None:
        self._kind = KINDS[value_format]
        self._schemas = schemas
        self._readers: dict[bytes, _Read] = schemas.readers(value_format)
        self._reported: set[str] = set()

    def __call__(self, value: bytes) -> object:
        """Read a value.

        Raises
        ------
        Rejection
            The value is not in the wire format, its schema is unknown, or it does not match the schema.

        """
        read = self._readers.get(value[:ID_END]) or self._reader(key_of(value))
        try:
            document = read(value, ID_END)
        except Exception as error:  # noqa: BLE001 - whatever a value may bring about
            raise self._rejection(error) from None
        if type(document) is not dict:
            raise Rejection(Reason.NOT_AN_OBJECT, "expected a record as value")
        return document

    def _reader(self, key: bytes) -> _Read:
        """Return a reader of a schema's values, which rejects all of them if the schema is unusable."""
        read = self._readers.get(key)
        if read is not None:
            return read
        schema, what = self._schemas[key], f"schema {name_of(key)}"
        if schema is None:  # it may be found later
            raise Rejection(Reason.UNKNOWN_SCHEMA, f"{what}: unknown to the Schema Registry")
        try:
            read = self._make(schema, what)
        except Rejection as error:
            read = _rejecting(error.message)
        except UnusableSchema as error:
            read = _rejecting(f"{what} cannot be used: {error}")
        except (MemoryError, ServiceError):
            raise
        except Exception as error:  # noqa: BLE001 - whatever a schema may bring about
            read = _rejecting(self._defect(error, f"{what} cannot be used").message)
        self._readers[key] = read
        return read

    def _make(self, schema: Schema, what: str) -> _Read:
        """Return a reader of the values of a schema. Raises `UnusableSchema` and `Rejection`."""
        if schema.kind == SchemaKind.UNUSABLE:
            raise UnusableSchema(schema.parts[0].decode())
        if schema.kind != self._kind:
            raise Rejection(Reason.UNKNOWN_SCHEMA, f"{what} is of type {schema.kind}, not {self._kind}")
        return _MAKERS[self._kind](schema)

    def _rejection(self, error: Exception) -> Exception:
        """Return the error to raise for a value that cannot be read."""
        if isinstance(error, TooManyValues):
            return Rejection(Reason.TOO_LARGE, str(error))
        if isinstance(error, RecursionError):
            return Rejection(Reason.TOO_DEEP, str(error))
        if isinstance(error, UnicodeDecodeError):
            return Rejection(Reason.INVALID_DATA, "expected a text in UTF-8, got other bytes")
        if isinstance(error, ValueError):
            return Rejection(Reason.INVALID_DATA, f"it does not match its schema: {error}")
        if isinstance(error, (Rejection, MemoryError)):  # running out of memory does not depend on the value
            return error
        return self._defect(error, "the value cannot be read")

    def _defect(self, error: Exception, what: str) -> Rejection:
        """Report an unexpected error; return the rejection to raise instead."""
        kind = type(error).__name__
        rejection = Rejection(Reason.UNKNOWN_SCHEMA, f"{what}: {kind}: {error}")
        if kind not in self._reported:  # a traceback for each record would fill the log
            self._reported.add(kind)
            _log.error("%s; such records are dead letters: please report this", rejection, exc_info=error)
        return rejection


def _rejecting(message: str) -> _Read:
    def read(*_: object) -> object:
        raise Rejection(Reason.UNKNOWN_SCHEMA, message)

    return read


def _protobuf(schema: Schema) -> _Read:
    file = ProtobufFile(schema.parts)
    readers: dict[tuple[int, ...], Callable[..., object]] = {}

    def read(value: bytes, start: int) -> object:
        indexes, start = message_indexes(value, start)
        if indexes not in readers:
            try:
                readers[indexes] = file.reader_at(indexes)
            except UnusableSchema as error:
                readers[indexes] = _rejecting(f"its schema cannot be used: {error}")
        return readers[indexes](value[start:])

    return read


_MAKERS: Final[dict[SchemaKind, Callable[[Schema], _Read]]] = {
    SchemaKind.AVRO: lambda schema: avro_reader(schema.parts),
    SchemaKind.PROTOBUF: _protobuf,
    SchemaKind.JSON: lambda _: lambda value, start: read_json(value[start:]),
}


_NONE: Final[Mapping[bytes, Schema]] = MappingProxyType({})
AS_JSON: Final[Mapping[str, str]] = {"format": "json"}
"""Settings that replace the settings of a format with a schema."""


def needs_schemas(settings: Settings) -> bool:
    """Return whether the records of a topic have schemas."""
    return settings.events.format in KINDS or settings.labels.format in KINDS


def make_schemas(settings: Settings, known: Mapping[bytes, Schema] = _NONE) -> Schemas | None:
    """Return the schemas of a partition, starting with `known`; None if its records have none."""
    if not needs_schemas(settings):
        return None
    topics = {settings.labels_topic: settings.labels, settings.events_topic: settings.events}
    schemas = Schemas({topic for topic, table in topics.items() if table.format in KINDS})
    schemas.add(known)
    return schemas


def reader_of(table: LabelSettings, schemas: Schemas | None) -> Reader:
    """Return a reader of the records of a topic; of JSON without schemas."""
    if table.format not in KINDS:
        return READERS[table.format]
    return read_json if schemas is None else WireReader(table.format, schemas)
