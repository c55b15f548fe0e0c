"""Decode each record with the settings and the schema under which it was first read.

Both may have changed at a restart.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence

from service.audit.committed.eras import Era
from service.formats.schema import Schema
from service.formats.topics import file_key, make_schemas, until
from service.messages.decoder import Decoder
from service.partition.factory import make_decoder
from service.settings.load import Settings
from service.stream import Record


class DatedDecoders:
    """The decoders of one partition, by topic and offset.

    Parameters
    ----------
    eras
        The settings that describe the records, oldest first.
    schemas
        Those that the partition's checkpoint log holds.

    """

    def __init__(self, eras: Sequence[Era], schemas: Mapping[bytes, Schema]) -> None:
        *earlier, present = eras
        self._present = _EraDecoders(present.settings, schemas)
        self._earlier = [(era.until, _EraDecoders(era.settings, schemas)) for era in earlier]

    def of(self, record: Record) -> Decoder:
        """Return what reads a record."""
        for ends, decoders in self._earlier:
            if record.offset < ends.get(record.topic, 0):
                return decoders.of(record)
        return self._present.of(record)


class _EraDecoders:
    """The decoders under the same settings, but for the schemas of files."""

    def __init__(self, settings: Settings, schemas: Mapping[bytes, Schema]) -> None:
        self._last = make_decoder(settings, make_schemas(settings, schemas))
        self._ends: dict[str, list[int]] = {}
        self._earlier: dict[str, list[Decoder]] = {}
        for table in (settings.events, settings.labels) if settings.labels_topic else (settings.events,):
            earlier = until(schemas, table.table()) if table.schema_file else []
            topic = settings.labels_topic if table is settings.labels else settings.events_topic
            self._ends[topic] = [end for end, _ in earlier]
            key = file_key(table.table())
            self._earlier[topic] = [
                make_decoder(settings, make_schemas(settings, {**schemas, key: schema}))
                for _, schema in earlier
            ]

    def of(self, record: Record) -> Decoder:
        """Return what reads a record."""
        ends = self._ends.get(record.topic)
        if not ends or record.offset >= ends[-1]:
            return self._last
        return self._earlier[record.topic][bisect_right(ends, record.offset)]
