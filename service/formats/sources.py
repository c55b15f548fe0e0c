"""Find the schemas of a batch of records in the registry.

If the registry does not answer, the batch waits. If it does not have a schema, it is asked again for a
moment, as it may be a lagging replica; then the records with that id become dead letters.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from math import inf
from threading import Event
from typing import Final

from service.clock import SYSTEM_CLOCK, Clock
from service.errors import ConfigurationError, RegistryUnavailable, ServiceError
from service.formats.registry import ReferenceMissing, SchemaMissing, SchemaRegistry
from service.formats.schema import Schema, SchemaKind, Schemas, name_of
from service.formats.topics import KINDS
from service.settings.code import need
from service.settings.load import Settings
from service.stream.protocol import Record

_PATIENCE_SECONDS: Final = 2.0
"""How long to ask a registry again for a missing schema."""
_AGAIN_SECONDS: Final = 0.25
_DOUBT_SECONDS: Final = 60.0
"""How long a schema then counts as missing, so that records with invalid ids do not slow down the others."""
_FETCH_SECONDS: Final = 10.0
"""Longest time for all schemas of a batch; after it the batch waits, as without a response."""
_MAX_REMEMBERED: Final = 1000
_MAX_COMPLAINT_LENGTH: Final = 500
_NEVER: Final = Event()
_log = logging.getLogger(__name__)
_MODULES: Final = {"avro": "fastavro", "protobuf": "google.protobuf"}
"""Modules that must be installed, by format."""


class Sources:
    """Finds the schemas of records, for all partitions of a process.

    Parameters
    ----------
    settings
        The formats and the registry.
    clock
        The clock for waits.

    Raises
    ------
    ConfigurationError
        A package or the address of a registry is missing.

    """

    def __init__(self, settings: Settings, clock: Clock = SYSTEM_CLOCK) -> None:
        _check(settings)
        self._registry = SchemaRegistry(settings.schema_registry) if settings.schema_registry.url else None
        self._clock = clock
        self._found: dict[bytes, Schema] = {}
        self._absent: dict[bytes, float] = {}
        """When the registry may be asked for a schema again, in monotonic seconds."""
        self._warned_of: set[bytes] = set()
        """The schemas for which the log has reported a missing reference."""
        self._patient_from = -inf

    def find(self, schemas: Schemas, records: Sequence[Record]) -> dict[bytes, Schema]:
        """Return the schemas of a batch that are not in `schemas`, by key, without those that do not exist.

        Raises
        ------
        RegistryUnavailable
            The registry does not answer.

        """
        missing = schemas.mark_used(records)
        return self._fetch(missing) if missing else {}

    def _fetch(self, keys: Sequence[bytes]) -> dict[bytes, Schema]:
        """Ask for schemas; ask again for missing ones for a while."""
        now = self._clock.monotonic()
        keys_to_ask = [key for key in keys if self._absent.get(key, -inf) <= now]
        absent = self._ask_all(keys_to_ask, now + _FETCH_SECONDS)
        deadline = now + _PATIENCE_SECONDS if now >= self._patient_from else now
        while absent and self._clock.monotonic() < deadline:
            self._clock.wait(_NEVER, _AGAIN_SECONDS)
            absent = self._ask_all(absent, now + _FETCH_SECONDS)
        if absent:
            self._patient_from = self._clock.monotonic() + _DOUBT_SECONDS
            self._remember_absent(absent)
        return {key: self._found[key] for key in keys if key in self._found}

    def _ask_all(self, keys: Sequence[bytes], deadline: float) -> list[bytes]:
        """Ask for schemas; return the missing ones. Raises `RegistryUnavailable` at the deadline.

        Responses until then are cached: the next attempt continues from there.
        """
        absent: list[bytes] = []
        for n_asked, key in enumerate(keys):
            if self._clock.monotonic() >= deadline:
                self._remember_absent(absent)
                responses = f"has responded for {n_asked} of {len(keys)} schemas"
                raise RegistryUnavailable(f"schema registry: it {responses} within {_FETCH_SECONDS:g} s")
            if not self._ask(key):
                absent.append(key)
        return absent

    def _ask(self, key: bytes) -> bool:
        """Ask for a schema; return whether it is known now."""
        if key in self._found:
            return True
        assert self._registry is not None
        try:
            schema = self._registry.schema(key)
        except SchemaMissing as error:
            if isinstance(error, ReferenceMissing) and key not in self._warned_of:
                self._warned_of.add(key)
                _log.warning("schema %s: %s", name_of(key), error)
            return False
        except (MemoryError, ServiceError):
            raise
        except Exception as error:  # noqa: BLE001 - whatever a schema may bring about
            why = f"{type(error).__name__}: {error}"
            _log.exception("unusable schema %s: please report this", name_of(key))
            schema = Schema(
                SchemaKind.UNUSABLE, (why[:_MAX_COMPLAINT_LENGTH].encode(errors="backslashreplace"),)
            )
        if len(self._found) >= _MAX_REMEMBERED:
            self._found.pop(next(iter(self._found)))
        self._found[key] = schema
        return True

    def _remember_absent(self, keys: Sequence[bytes]) -> None:
        if len(self._absent) + len(keys) > _MAX_REMEMBERED:
            self._absent.clear()
            self._warned_of.clear()
        self._absent |= dict.fromkeys(keys, self._clock.monotonic() + _DOUBT_SECONDS)


def _check(settings: Settings) -> None:
    """Reject formats without their package or a Schema Registry."""
    for table in (settings.events, settings.labels):
        name = f"{table.table()}.format {table.format}"
        if table.format not in KINDS:
            continue
        if table.format in _MODULES:
            need(_MODULES[table.format], name)
        if not settings.schema_registry.url:
            raise ConfigurationError(f"{name} needs a Schema Registry", hint="set schema_registry.url")
