"""Progress records as the audit reads them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from service.audit.findings import Place
from service.checkpoints.log import what_is_newer
from service.errors import NewerRelease


class Batch(NamedTuple):
    """Where a partition stood after a batch: one progress record, or the first snapshot of a log."""

    place: Place
    sequence: int
    offsets: Mapping[str, int]
    counts: Mapping[str, int]
    consumed: Mapping[str, int] | None
    """Records ever processed, by input topic; None if an earlier release wrote it, or there are none."""


def read_progress(place: Place, value: bytes | None) -> Batch | None:
    """Read a progress record; None if it cannot be read. Raises `NewerRelease`."""
    try:
        fields: dict[str, Any] = json.loads(value or b"")
        newer = what_is_newer(fields)
        if not newer:
            return _batch(place, fields)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    raise NewerRelease.wrote(f"{place}: progress {newer}")


def _batch(place: Place, fields: Mapping[str, Any]) -> Batch | None:
    offsets = {str(topic): int(offset) for topic, offset in fields["offsets"].items()}
    counts = {str(name): int(count) for name, count in fields["counts"].items()}
    consumed = {str(topic): int(count) for topic, count in fields.get("consumed", {}).items()} or None
    if fields.get("now_ms", 1) <= 0:
        return None
    return Batch(place, int(fields["sequence"]), offsets, counts, consumed)
