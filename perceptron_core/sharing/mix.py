"""Add up the contributions of all lanes to a round."""

from __future__ import annotations

import zlib
from array import array
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from perceptron_core.formats.packed import pack
from perceptron_core.sharing.contribution import (
    OF_LEARNER,
    Base,
    Contribution,
    Contributions,
    Form,
    Part,
    is_of_many,
    read,
    read_many,
)
from perceptron_core.sharing.layouts import kinds_of
from perceptron_core.sharing.mixed_block import MixedBlock
from perceptron_core.sharing.positions import places, united
from perceptron_core.weights.buffers import integers, to_bytes

if TYPE_CHECKING:
    from collections.abc import Mapping

Read = TypeVar("Read", Contribution, Contributions)

ONE: Any = memoryview(integers(1))
"""The positions of the one row of a learner as a whole."""


class Lane(NamedTuple):
    """A contribution to a mix."""

    contribution: Contribution
    positions: array[int]
    """Where its coordinates stand among those of the mix."""


class Mix:
    """The contributions of a round: every lane applies them.

    Attributes
    ----------
    form, base
        What the contributions agree in.
    coordinates
        Slots in ascending order; or names, those of the first lane first.
    n_updates
        Updates that it is made of.
    n_coordinates
        Of all lanes together.

    """

    def __init__(self, contributions: Mapping[bytes, Contribution], lanes: Sequence[Contribution]) -> None:
        first = lanes[0]
        self.form: Form = first.form
        self.base: Base = first.base
        self.n_updates: int = sum(lane.n_updates for lane in lanes)
        self.coordinates, positions = _aligned(self.form, lanes)
        self.n_coordinates: int = len(self.coordinates)
        self.blocks = self._added(lanes, positions)
        of_lanes = {id(lane): where for lane, where in zip(lanes, positions, strict=True)}
        self._lanes = {data: Lane(lane, of_lanes[id(lane)]) for data, lane in contributions.items()}
        is_named = self.form.hash_bits is None
        self.mark = zlib.crc32(pack(self.coordinates) if is_named else to_bytes("i", self.coordinates))

    def lane_of(self, own: bytes) -> Lane:
        """Return what a lane contributed. Raises ValueError if it is no part of the mix."""
        try:
            return self._lanes[own]
        except KeyError:
            raise ValueError("this contribution is no part of the mix") from None

    def _added(self, lanes: Sequence[Contribution], positions: Sequence[array[int]]) -> list[MixedBlock]:
        """Add up block by block: those of no class, then the classes, in the order of the lanes."""
        layout, blocks = self.form.layout, {}
        for lane, where in zip(lanes, positions, strict=True):
            for block in lane.blocks:
                key = block.label, block.of
                if key not in blocks:
                    n = 1 if block.of == OF_LEARNER else self.n_coordinates
                    blocks[key] = MixedBlock(*key, kinds_of(layout, *key), n)
                if block.of == OF_LEARNER:
                    blocks[key].add(ONE, array("d", [lane.n_updates]), block)
                else:
                    blocks[key].add(where, lane.counts, block)
        for mixed in blocks.values():
            mixed.close()
        return list(blocks.values())


class MixOfMany:
    """The contributions of a round to several learners, a mix for each of those that learned something.

    Attributes
    ----------
    form, base
        What the contributions agree in.
    mixes
        By learner, in the order in which the lanes name them.

    """

    def __init__(self, contributions: Mapping[bytes, Contributions], lanes: Sequence[Contributions]) -> None:
        self.form: Form = lanes[0].form
        self.base: Base = lanes[0].base
        self.mixes: dict[Part, Mix] = {}
        self._parts = {data: lane.parts.keys() for data, lane in contributions.items()}
        for part in dict.fromkeys(part for lane in lanes for part in lane.parts):
            given = {data: lane.parts[part] for data, lane in contributions.items() if part in lane.parts}
            found = [lane.parts[part] for lane in lanes if part in lane.parts]
            self.mixes[part] = Mix(given, _checked(found))

    def parts_of(self, own: bytes) -> Collection[Part]:
        """Return which learners a lane contributed to. Raises ValueError if it is no part of the mix."""
        if own not in self._parts:
            raise ValueError("this contribution is no part of the mix")
        return self._parts[own]


AnyMix = Mix | MixOfMany


def mix(contributions: Sequence[bytes]) -> AnyMix:
    """Add up the contributions of all lanes to a round.

    Pure: the same contributions in the same order make the same mix, to the bit, compiled or not.

    Parameters
    ----------
    contributions
        What `SharedModel.contribute` returned, in the order of the lanes; one for each lane.

    Raises
    ------
    DamagedError
        For what cannot be read.
    ValueError
        For no contributions, or contributions of different models or to different bases.

    """
    if not contributions:
        raise ValueError("a mix needs at least one contribution")
    if is_of_many(contributions[0]):
        many = _read_all(contributions, read_many)
        return MixOfMany(many, _checked([many[data] for data in contributions]))
    one = _read_all(contributions, read)
    return Mix(one, _checked([one[data] for data in contributions]))


def _read_all(contributions: Sequence[bytes], read_one: Callable[[bytes], Read]) -> dict[bytes, Read]:
    """Read contributions; those that are alike, once."""
    return {data: read_one(data) for data in dict.fromkeys(contributions)}


def _checked(lanes: Sequence[Read]) -> Sequence[Read]:
    """Return contributions. Raises ValueError if they are of different models, or to different bases."""
    for number, lane in enumerate(lanes):
        if (lane.form, lane.base) != (lanes[0].form, lanes[0].base):
            raise ValueError(
                f"contribution {number} is to {lane.form.layout_name} after round {lane.base.n_rounds} "
                f"({lane.base.checksum:08x}), but contribution 0 to {lanes[0].form.layout_name} after round "
                f"{lanes[0].base.n_rounds} ({lanes[0].base.checksum:08x})"
            )
    return lanes


def _aligned(form: Form, lanes: Sequence[Contribution]) -> tuple[Any, list[array[int]]]:
    """Return the coordinates of all lanes, and where those of each stand among them."""
    if form.hash_bits is None:
        places_of: dict[Any, int] = {}
        found = []
        for lane in lanes:
            found.append(integers(len(lane.coordinates)))
            for k, name in enumerate(lane.coordinates):
                found[-1][k] = places_of.setdefault(name, len(places_of))
        return list(places_of), found
    slots = integers(0)
    for lane in lanes:
        slots = united(slots, lane.coordinates)
    return slots, [places(slots, lane.coordinates) for lane in lanes]
