"""Bases of other partitions: what their newest snapshots say of the rounds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from service.checkpoints.log import read_log
from service.checkpoints.status import newest_sound
from service.settings.load import Settings
from service.stream import Transport


def find_base(transport: Transport, settings: Settings, partition: int) -> Mapping[str, Any] | None:
    """Return the rounds of the other partition that is furthest; None if none shares its model.

    Raises
    ------
    CheckpointError, TransportError
        A log cannot be read.

    """
    found = [
        rounds
        for each in range(transport.partition_count(settings.checkpoints_topic))
        if each != partition and (rounds := _newest_rounds(transport, settings, each)) is not None
    ]
    return max(found, key=lambda rounds: (rounds["start"], rounds["round"]), default=None)


def _newest_rounds(transport: Transport, settings: Settings, partition: int) -> Mapping[str, Any] | None:
    log = read_log(transport.read(settings.checkpoints_topic, partition), settings.group)
    _, snapshot = newest_sound(log)
    rounds: Mapping[str, Any] | None = snapshot.state.get("rounds") if snapshot else None
    return rounds if rounds is not None and rounds["start"] >= 0 else None
