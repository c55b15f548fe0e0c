"""The parts that a partition may have. A new part is added to `FURTHER`, and named nowhere else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from service.partition.decisions.part import Decisions
from service.partition.drift.part import Drift
from service.partition.part import Part
from service.partition.processor import ALWAYS, OTHERS
from service.partition.windows.part import Windows
from service.settings.fields import Settings

FURTHER: Final[tuple[type[Part], ...]] = (Windows, Decisions, Drift)
"""Beside those that a processor always has."""


def make_parts(settings: Settings) -> tuple[Part, ...]:
    """Make the further parts that the settings describe."""
    made = (kind.of(settings) for kind in FURTHER)
    return tuple(part for part in made if part is not None)


def counts_of(state: Mapping[str, Any]) -> dict[str, int | None]:
    """Return what the parts with this state have counted, as progress records have it."""
    kinds = (kind for kind in (*ALWAYS, *FURTHER) if kind.name in state)
    return {name: count for kind in kinds for name, count in kind.counts_of(state[kind.name]).items()}


def with_changes(states: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """Return a state with what changed since: the first is whole, the others are `Processor.packed_changes`.

    Raises `DamagedError` if they do not belong together.
    """
    first, *changes = states
    found = dict(changes[-1])
    for kind in (*ALWAYS, *FURTHER):
        if kind.name in found and all(kind.name in each for each in states):
            found[kind.name] = kind.with_changes(first[kind.name], [each[kind.name] for each in changes])
    return found


def unknown_parts(state: Mapping[str, Any]) -> list[str]:
    """Name the parts in a state that this release does not have."""
    return sorted(state.keys() - OTHERS - {kind.name for kind in (*ALWAYS, *FURTHER)})
