"""Write and read what a lane learned since the base."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from perceptron_core.base.shared import Layout
from perceptron_core.base.update import Label
from perceptron_core.errors import DamagedError
from perceptron_core.formats.envelope import seal, unseal
from perceptron_core.formats.packed import pack, unpack
from perceptron_core.sharing.layouts import LAYOUTS, kinds_of
from perceptron_core.sharing.numbers import decode, encode
from perceptron_core.sharing.positions import from_gaps, to_gaps
from perceptron_core.weights.buffers import doubles

_KIND: Final = b"perceptron-contribution"
_KIND_OF_MANY: Final = b"perceptron-auto-contribution"
_VERSION: Final = 1

_MOST_BITS: Final = 30
"""Of a slot."""

OF_ROWS: Final = 0
OF_LEARNER: Final = 1
"""What the columns of a block have a row for: a feature, or the learner as a whole."""


class Form(NamedTuple):
    """What all lanes of a model agree in."""

    layout_name: str
    hash_bits: int | None

    @property
    def layout(self) -> Layout:
        """What is mixed. Raises KeyError for what no release has."""
        return LAYOUTS[self.layout_name]


class Base(NamedTuple):
    """What a contribution is the difference to."""

    n_rounds: int
    checksum: int


class Block(NamedTuple):
    """Shifts of some rows, in columns that are mixed together."""

    label: Label
    """The class they are of; None: of all."""
    of: int
    rows: array[int]
    """Which of the contribution's coordinates."""
    columns: list[array[float]]


class Contribution(NamedTuple):
    """The shifts of a lane."""

    form: Form
    base: Base
    n_updates: int
    """That the shifts of the learner as a whole are made of."""
    coordinates: Any
    """Slots in ascending order, or names."""
    counts: array[float]
    """Updates of each coordinate."""
    blocks: list[Block]


class Part(NamedTuple):
    """The place of a learner among several."""

    label: Label
    """The class it tells from the others."""
    name: str


class Contributions(NamedTuple):
    """The shifts of a lane of several learners."""

    form: Form
    base: Base
    parts: dict[Part, Contribution]
    """Of the learners that learned something."""


def write(contribution: Contribution) -> bytes:
    """Write a contribution; shifts are rounded, `read` returns what they are then."""
    form, base, n_updates, coordinates, counts, blocks = contribution
    places = coordinates if form.hash_bits is None else encode(to_gaps(coordinates))
    body = (
        form,
        base,
        n_updates,
        len(counts),
        places,
        encode(counts),
        [_written(block, len(counts)) for block in blocks],
    )
    return seal(_KIND, _VERSION, pack(body))


def read(data: bytes) -> Contribution:
    """Read a contribution. Raises `DamagedError` for what `write` did not write."""
    _, body = unseal(_KIND, range(_VERSION, _VERSION + 1), data)
    try:
        return _read(unpack(body))
    except MemoryError:
        raise
    except Exception as error:
        raise DamagedError(
            f"this contribution is sealed but cannot be read: {type(error).__name__}: {error}"
        ) from error


def write_many(form: Form, base: Base, parts: Mapping[Part, bytes]) -> bytes:
    """Write what several learners contribute, of which each is written already."""
    return seal(_KIND_OF_MANY, _VERSION, pack((form, base, [(*part, data) for part, data in parts.items()])))


def is_of_many(data: bytes) -> bool:
    """Return whether this is what `write_many` returns."""
    return data.startswith(_KIND_OF_MANY)


def read_many(data: bytes) -> Contributions:
    """Read what several learners contribute. Raises `DamagedError` for what `write_many` did not write."""
    _, body = unseal(_KIND_OF_MANY, range(_VERSION, _VERSION + 1), data)
    try:
        form, base, parts = unpack(body)
        found = {Part(label, name): read(part) for label, name, part in parts}
    except (DamagedError, MemoryError):
        raise
    except Exception as error:
        raise DamagedError(
            f"this contribution is sealed but cannot be read: {type(error).__name__}: {error}"
        ) from error
    if len(found) != len(parts):
        raise DamagedError("a learner that is there twice")
    return Contributions(Form(*form), Base(*base), found)


def _written(block: Block, n: int) -> tuple[Any, ...]:
    is_dense = len(block.rows) == (1 if block.of == OF_LEARNER else n)
    rows = None if is_dense else encode(to_gaps(block.rows))
    return block.label, block.of, len(block.rows), rows, [encode(column) for column in block.columns]


def _read(body: Any) -> Contribution:
    form, base, n_updates, n, places, counts, blocks = body
    form = Form(*form)
    if form.hash_bits is None:
        coordinates = places
        if len(coordinates) != n or len(set(coordinates)) != n:
            raise DamagedError("names that are not distinct")
    else:
        coordinates = from_gaps(decode(places, n), 1 << min(form.hash_bits, _MOST_BITS))
    read_counts = decode(counts, n)
    if n and min(read_counts) < 0:
        raise DamagedError("a count below 0")
    contribution = Contribution(
        form,
        Base(*base),
        n_updates,
        coordinates,
        read_counts,
        [_read_block(form.layout, block, n) for block in blocks],
    )
    if type(n_updates) is not int or n_updates < 0:
        raise DamagedError(f"{n_updates!r} updates")
    if len({(block.label, block.of) for block in contribution.blocks}) != len(blocks):
        raise DamagedError("a block that is there twice")
    return contribution


def _read_block(layout: Layout, block: Sequence[Any], n: int) -> Block:
    label, of, n_rows, rows, columns = block
    kinds = kinds_of(layout, label, of)
    if of not in {OF_ROWS, OF_LEARNER} or not kinds or len(columns) != len(kinds):
        raise DamagedError(f"{len(columns)} columns of kind {of!r}, not {len(kinds)}")
    n_coordinates = 1 if of == OF_LEARNER else n
    if rows is None and n_rows != n_coordinates:
        raise DamagedError(f"{n_rows} rows, not {n_coordinates}")
    gaps = all_gaps(n_rows) if rows is None else decode(rows, n_rows)
    return Block(label, of, from_gaps(gaps, n_coordinates), [decode(column, n_rows) for column in columns])


def all_gaps(n: int) -> array[float]:
    """Return the gaps between rows of which none is left out."""
    gaps = doubles(n)
    for row in range(1, n):
        gaps[row] = 1.0
    return gaps
