"""The settings in force at each offset, as the snapshots of a checkpoint log name them.

A service may be stopped, given other settings that decide what a record does, and started again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from pydantic import ValidationError

from service.audit.committed.history import CommitHistory
from service.checkpoints.identity import named_settings
from service.errors import CheckpointError
from service.formats.schema import Schema
from service.settings.load import Settings
from service.settings.mapping import LabelSettings
from service.settings.names import JOIN_SETTINGS

PLAIN: Final = ("classes", "max_message_bytes", *JOIN_SETTINGS)
"""Settings that are no mapping, and that decide what the audit expects of a record."""


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
        The log names settings that this release does not have.

    """
    named = [*history.earlier, {"until": history.offsets, "settings": history.identity}]
    return [Era(each["until"], as_named(each["settings"], settings, history.schemas)) for each in named]


def as_named(named: Mapping[str, Any], settings: Settings, schemas: Mapping[bytes, Schema]) -> Settings:
    """Return the settings with those that a snapshot names, as far as the audit depends on them."""
    if not named:
        return settings
    named = named_settings(named, schemas)
    plain = {name: named[name] for name in PLAIN if _is_like(named.get(name), getattr(settings, name))}
    try:
        tables = {table.table(): _table(named, table) for table in (settings.events, settings.labels)}
    except ValidationError as error:
        raise CheckpointError(
            f"{settings.checkpoints_topic}: a snapshot names settings that are not this release's: {error}",
            hint="run the release that wrote it, or a newer one",
        ) from None
    return settings.model_copy(update=plain | tables)


def _is_like(value: object, given: object) -> bool:
    return isinstance(value, (int, float) if isinstance(given, (int, float)) else type(given))


def _table(named: Mapping[str, Any], table: LabelSettings) -> LabelSettings:
    name = f"{table.table()}."
    entries = {each.removeprefix(name): value for each, value in named.items() if each.startswith(name)}
    if table.schema_file and "schema_file" in entries:
        entries["schema_file"] = table.schema_file
    return type(table)(**entries)
