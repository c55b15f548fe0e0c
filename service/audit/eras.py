"""The settings that records were processed under. In: a checkpoint log, settings. Out: which held up to where.

A service may be stopped, told other settings that decide what a record does, and started again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from pydantic import ValidationError

from service.audit.history import CommitHistory
from service.errors import CheckpointError
from service.formats.schema import Schema
from service.formats.schema_readers import KINDS
from service.formats.topics import file_key
from service.settings.load import Settings
from service.settings.mapping import MAPPING, LabelSettings

LIMITS: Final = ("label_timeout_seconds", "max_pending", "max_pending_bytes")
"""Settings that decide how long an event is kept for its label."""
PLAIN: Final = ("classes", "max_message_bytes", *LIMITS)
"""Those that are no mapping, and that decide what the audit expects of a record."""
_IN_THE_LOG: Final = "in the checkpoint log"
"""Stands for the path of a schema file whose schema the log holds."""


class Era(NamedTuple):
    """A time under the same settings."""

    until: Mapping[str, int]
    """Where it ended: next offset by topic; for the present one, that of the last commit."""
    settings: Settings


def eras_of(history: CommitHistory, settings: Settings) -> Sequence[Era]:
    """List the eras of a partition, oldest first; what its log does not name is as in `settings`.

    Raises
    ------
    CheckpointError
        The log names settings that this release does not take.

    """
    named = [*history.earlier, {"until": history.offsets, "settings": history.identity}]
    return [Era(each["until"], as_named(each["settings"], settings, history.schemas)) for each in named]


def as_named(named: Mapping[str, Any], settings: Settings, schemas: Mapping[bytes, Schema]) -> Settings:
    """Return the settings with those that a snapshot names, as far as the audit depends on them."""
    if not named:
        return settings
    plain = {name: named[name] for name in PLAIN if _is_like(named.get(name), getattr(settings, name))}
    try:
        tables = {
            table.table(): _table(named, table, schemas) for table in (settings.events, settings.labels)
        }
    except ValidationError as error:
        raise CheckpointError(
            f"{settings.checkpoints_topic}: a snapshot names settings that are not this release's: {error}",
            hint="run the release that wrote it, or a newer one",
        ) from None
    return settings.model_copy(update=plain | tables)


def _is_like(value: object, given: object) -> bool:
    return isinstance(value, (int, float) if isinstance(given, (int, float)) else type(given))


def _table(named: Mapping[str, Any], table: LabelSettings, schemas: Mapping[bytes, Schema]) -> LabelSettings:
    name = table.table()
    entries = {
        each.rpartition(".")[2]: named[each]
        for each in MAPPING
        if each.startswith(f"{name}.") and named.get(each, ()) != ()
    }
    is_in_file = any(key.startswith(file_key(name)) for key in schemas)
    if entries.get("format") in KINDS and (is_in_file or table.schema_file):
        entries["schema_file"] = table.schema_file or _IN_THE_LOG
    return type(table)(**entries)
