"""The parts that a partition may have. A new part is added to `FURTHER`, and named nowhere else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from service.partition.part import Part
from service.partition.processor import ALWAYS, OTHERS
from service.partition.windows.part import Windows
from service.settings.fields import Settings

FURTHER: Final[tuple[type[Part], ...]] = (Windows,)
"""Beside those that a processor always has."""


def make_parts(settings: Settings) -> tuple[Part, ...]:
    """Make the further parts that the settings describe."""
    made = (kind.of(settings) for kind in FURTHER)
    return tuple(part for part in made if part is not None)


def counts_of(state: Mapping[str, Any]) -> dict[str, int | None]:
    """Return what the parts with this state have counted, as progress records have it."""
    kinds = (kind for kind in (*ALWAYS, *FURTHER) if kind.name in state)
    return {name: count for kind in kinds for name, count in kind.counts_of(state[kind.name]).items()}


def unknown_parts(state: Mapping[str, Any]) -> list[str]:
    """Name the parts in a state that this release does not have."""
    return sorted(state.keys() - OTHERS - {kind.name for kind in (*ALWAYS, *FURTHER)})
