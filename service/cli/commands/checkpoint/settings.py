"""Complete the given settings with those that a checkpoint names."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from service.checkpoints.identity import named_settings
from service.checkpoints.log import CheckpointLog, read_log
from service.checkpoints.status import newest_sound
from service.errors import CheckpointError
from service.models.made_with import in_place_of_defaults
from service.settings.load import Loaded, Settings
from service.settings.mapping import MAPPED_FEATURES
from service.settings.names import MODEL_SETTINGS
from service.stream import Transport


def as_made(log: CheckpointLog, partition: int, loaded: Loaded) -> Settings:
    """Return the settings, with those of the newest sound snapshot where none was given."""
    return in_place_of_defaults(
        _known(log), f"{loaded.settings.checkpoints_topic}[{partition}]", loaded
    ).settings


def _known(log: CheckpointLog) -> dict[str, Any]:
    """Return the settings that the newest sound snapshot names, by dotted name."""
    _, snapshot = newest_sound(log)
    if snapshot is None:
        return {}
    kept = [key for key, *_ in snapshot.state.get("schemas", ())]
    return named_settings(snapshot.identity, [*kept, *(each.key for each in log.schemas)])


def as_processed(transport: Transport, partition: int, loaded: Loaded) -> Settings:
    """Return the settings, with those of records as in the checkpoint where none was given.

    What is not known of a log that is beyond repair, `--no-restore` goes on without.
    """
    settings, known = loaded.settings, {}
    with suppress(CheckpointError):
        known = _known(read_log(transport.read(settings.checkpoints_topic, partition), settings.group))
    of_records = {
        name: value for name, value in known.items() if name not in {*MODEL_SETTINGS, *MAPPED_FEATURES}
    }
    return in_place_of_defaults(of_records, f"{settings.checkpoints_topic}[{partition}]", loaded).settings
