"""Readers and schemas of the input topics, as the settings say."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from service.formats.readers import READERS, Reader, read_json
from service.formats.schema import Schema
from service.formats.schema_readers import KINDS, FileReader, WireReader
from service.formats.schemas import KeysOf, Schemas
from service.formats.wire import keys_of
from service.settings.fields import Settings
from service.settings.mapping import LabelSettings

_NONE: Final[Mapping[bytes, Schema]] = MappingProxyType({})
AS_JSON: Final[Mapping[str, str]] = {"format": "json", "schema_file": "", "message": ""}
"""Settings in the place of those of a format with a schema."""
_UNTIL: Final = b"@"


def needs_schemas(settings: Settings) -> bool:
    """Return whether records of a topic are written with schemas."""
    return (
        settings.predictions_format != "json"
        or settings.events.format in KINDS
        or settings.labels.format in KINDS
    )


def make_schemas(settings: Settings, known: Mapping[bytes, Schema] = _NONE) -> Schemas | None:
    """Return the schemas of a partition, with those known; None if its records need none."""
    if not needs_schemas(settings):
        return None
    topics = {settings.labels_topic: settings.labels, settings.events_topic: settings.events}
    schemas = Schemas({topic: _keys_of(table) for topic, table in topics.items() if table.format in KINDS})
    schemas.add(known)
    return schemas


def reader_of(table: LabelSettings, schemas: Schemas | None) -> Reader:
    """Return a reader of the records of a topic; of JSON where there are no schemas."""
    if table.format not in KINDS:
        return READERS[table.format]
    if schemas is None:
        return read_json
    if table.schema_file:
        return FileReader(table.format, schemas, file_key(table.table()), table.message)
    return WireReader(table.format, schemas)


def file_key(table: str) -> bytes:
    """Return the key of the schema in a file; a registry's begin with another byte."""
    return f"file:{table}".encode()


def replaced_files(
    found: Mapping[bytes, Schema], known: Schemas, offsets: Mapping[str, int], settings: Settings
) -> dict[bytes, Schema]:
    """Return the known schemas of files that those found take the place of.

    Their keys say up to which record of the topic they hold, so that the records can always be read again.

    Parameters
    ----------
    found, known
        New schemas, and those so far.
    offsets
        From where on records are read with the new ones, by topic.
    settings
        Name the topics.

    """
    topics = {"events": settings.events_topic, "labels": settings.labels_topic}
    return {
        key + _UNTIL + str(offsets.get(topic, 0)).encode(): schema
        for table, topic in topics.items()
        if (key := file_key(table)) in found and (schema := known[key]) is not None
    }


def until(schemas: Mapping[bytes, Schema], table: str) -> list[tuple[int, Schema]]:
    """List the earlier schemas of a topic's file, each with the offset before which it holds; in order."""
    prefix = file_key(table) + _UNTIL
    ends = {int(key.removeprefix(prefix)): each for key, each in schemas.items() if key.startswith(prefix)}
    return sorted(ends.items())


def _keys_of(table: LabelSettings) -> KeysOf:
    """Return a function that returns the keys of the schemas that records of a topic need."""
    key = file_key(table.table())
    return (lambda records: {key for _ in records}) if table.schema_file else keys_of
