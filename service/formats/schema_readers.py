"""Readers of values that have a schema. In: a value, its headers. Out: a document, or a rejection."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from service.formats.avro import avro_reader
from service.formats.protobuf import ProtobufFile
from service.formats.protobuf_files import UnusableSchema
from service.formats.readers import read_json
from service.formats.schema import Schema, SchemaKind
from service.formats.schemas import Schemas
from service.formats.wire import ID_END, frame, message_indexes, name_of
from service.messages.rejection import Reason, Rejection
from service.stream import Headers

KINDS: Final = {"avro": SchemaKind.AVRO, "protobuf": SchemaKind.PROTOBUF, "json-schema": SchemaKind.JSON}
"""The formats with a schema, and what a registry calls it."""

_Read = Callable[..., Any]
"""Reads what begins at a position of some bytes, or the value in the third place, if those are a header's."""


class WireReader:
    """Reads values in Confluent's wire format.

    Parameters
    ----------
    value_format
        One of `KINDS`.
    schemas
        Those that are known.

    """

    def __init__(self, value_format: str, schemas: Schemas) -> None:
        self._kind = KINDS[value_format]
        self._schemas = schemas
        self._readers: dict[bytes, _Read] = schemas.readers(value_format)

    def __call__(self, value: bytes, headers: Headers = ()) -> object:
        """Read a value.

        Raises
        ------
        Rejection
            It is not in the wire format, its schema is not known, or it was not written with it.

        """
        if not headers and (read := self._readers.get(value[:ID_END])) is not None:
            try:  # as `_document`, for nearly every record
                document = read(value, ID_END)
            except (RecursionError, ValueError) as error:
                raise _refusal(error) from None
            if type(document) is dict:
                return document
        key, prefix, start, in_header = frame(value, headers)
        read = self._readers.get(key)
        if read is None:
            read = self._readers[key] = self._make(key)
        return _document(read, prefix, start, value if in_header else None)

    def _make(self, key: bytes) -> _Read:
        what, schema = f"schema {name_of(key)}", self._schemas[key]
        if schema is None:
            why = self._schemas.complaints.get(key, "the Schema Registry has none of this id")
            raise Rejection(Reason.UNKNOWN_SCHEMA, f"{what}: {why}")
        if schema.kind == SchemaKind.UNUSABLE:
            raise Rejection(Reason.UNKNOWN_SCHEMA, f"{what} cannot be used: {schema.parts[0].decode()}")
        if schema.kind != self._kind:
            raise Rejection(Reason.UNKNOWN_SCHEMA, f"{what} is of type {schema.kind}, not {self._kind}")
        try:
            return _MAKERS[self._kind](schema)
        except UnusableSchema as error:
            raise Rejection(Reason.UNKNOWN_SCHEMA, f"{what} cannot be used: {error}") from None


class FileReader:
    """Reads values that were all written with one schema, that of a file.

    Parameters
    ----------
    value_format
        `avro` or `protobuf`.
    schemas
        Where the schema is.
    key
        Its key there.
    message
        Name of the Protobuf message.

    """

    def __init__(self, value_format: str, schemas: Schemas, key: bytes, message: str = "") -> None:
        self._kind = KINDS[value_format]
        self._schemas = schemas
        self._key = key
        self._message = message
        self._readers: dict[bytes, _Read] = schemas.readers(key.decode())

    def __call__(self, value: bytes, _headers: Headers = ()) -> object:
        """Read a value. Raises `Rejection`: it was not written with the schema."""
        read = self._readers.get(self._key)
        if read is None:
            read = self._readers[self._key] = self._make()
        return _document(read, value, 0, None)

    def _make(self) -> _Read:
        schema = self._schemas[self._key]
        if schema is None:
            raise Rejection(Reason.UNKNOWN_SCHEMA, "the schema of the file is not known")
        return plain_reader(schema, self._message)


def plain_reader(schema: Schema, message: str) -> _Read:
    """Return what reads values without a prefix.

    Raises
    ------
    UnusableSchema
        The schema cannot be used.

    """
    if schema.kind == SchemaKind.AVRO:
        return _avro(schema)
    file = ProtobufFile(schema.parts)
    read = file.reader_of(message) if message else file.reader_at((0,))
    return lambda value, _start, _data: read(value)


def _document(read: _Read, prefix: bytes, start: int, data: bytes | None) -> object:
    try:
        document = read(prefix, start, data)
    except (RecursionError, ValueError) as error:
        raise _refusal(error) from None
    if type(document) is not dict:
        raise Rejection(Reason.NOT_AN_OBJECT, "the value is no record")
    return document


def _refusal(error: RecursionError | ValueError) -> Rejection:
    if isinstance(error, RecursionError):
        return Rejection(Reason.TOO_DEEP, str(error))
    return Rejection(Reason.INVALID_DATA, f"not written with its schema: {error}")


def _avro(schema: Schema) -> _Read:
    return avro_reader(schema.parts)


def _protobuf(schema: Schema) -> _Read:
    file = ProtobufFile(schema.parts)
    readers: dict[Sequence[int], Callable[[bytes], object]] = {}

    def read(prefix: bytes, start: int, data: bytes | None = None) -> object:
        indexes, start = message_indexes(prefix, start)
        found = readers.get(indexes)
        if found is None:
            found = readers[indexes] = file.reader_at(indexes)
        return found(prefix[start:] if data is None else data)

    return read


def _json(_schema: Schema) -> _Read:
    return lambda prefix, start, data=None: read_json(prefix[start:] if data is None else data)


_MAKERS: Final[dict[SchemaKind, Callable[[Schema], _Read]]] = {
    SchemaKind.AVRO: _avro,
    SchemaKind.PROTOBUF: _protobuf,
    SchemaKind.JSON: _json,
}
