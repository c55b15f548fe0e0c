"""A learner that is shared: what it contributes, and how it moves to a new base."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

from perceptron_core.arrays.hashed_classifier import HashedClassifier
from perceptron_core.sharing import rows
from perceptron_core.sharing.blocks import Mine, SharedBlocks, as_mixed, checksum_of, read_bases
from perceptron_core.sharing.columns import Plan
from perceptron_core.sharing.contribution import OF_LEARNER, Base, Contribution, Form, write
from perceptron_core.sharing.features import NamedFeatures, features_of
from perceptron_core.sharing.layouts import name_of_layout
from perceptron_core.sharing.mix import Mix
from perceptron_core.sharing.mixed_block import MixedBlock
from perceptron_core.weights.buffers import from_bytes, to_bytes
from perceptron_core.weights.example import Example


class _Written(Protocol):
    @property
    def data(self) -> bytes: ...


AnyOffer = TypeVar("AnyOffer", bound=_Written)


class Offer(NamedTuple):
    """A contribution that is written and not made yet."""

    data: bytes
    x: Example
    """Its rows."""
    n_updates_left: int


class Move(NamedTuple):
    """The way to a new base, computed before anything is written."""

    x: Example
    plans: Sequence[Plan]
    checksum: int


class SharedLearner:
    """What a learner has learned since the base, and the base.

    Parameters
    ----------
    learner
        A learner of this package, on a table of its own.
    hash_bits
        Of its features, if they are hashed.
    features
        How lanes name these to each other.

    """

    def __init__(self, learner: Any, hash_bits: int | None, features: NamedFeatures) -> None:
        self.form = Form(name_of_layout(learner), hash_bits)
        self._learner = learner
        self._table = learner.table
        self._features = features
        self._n_left = 0
        is_new = self._table.touches is None
        self._touches = self._table.count_updates() if is_new else self._table.touches
        self._blocks = SharedBlocks(learner, self.form.layout)
        if is_new:
            self._touch_all()

    @classmethod
    def of(cls, model: Any) -> SharedLearner:
        """Share a model that is one learner. Raises TypeError, naming its class, for any other."""
        learner = model.learner if type(model) is HashedClassifier else model
        name_of_layout(learner)
        if learner.table.touches is not None:
            raise ValueError(f"this {type(learner).__name__} is shared already")
        return cls(learner, getattr(learner, "hash_bits", None), features_of(learner.table))

    @property
    def n_updates(self) -> int:
        """Updates that are not contributed yet; of those contributed in part, what is left.

        At least 1 while a row is to be contributed: some change without an update.
        """
        return max(self._n_left + int(self._touches.n_updates), int(self.n_rows > 0))

    @property
    def n_rows(self) -> int:
        """Features that changed since they were contributed."""
        return int(self._touches.n)

    def offer(self, base: Base, max_bytes: int) -> Offer:
        """Write what was learned since the base, as much as fits."""
        return fitting(self.n_rows, max_bytes, lambda n: self.written(base, n))

    def written(self, base: Base, n: int) -> Offer:
        """Write what was learned of the first n rows that were updated."""
        self._blocks.update()
        x = self._features.updated(self._touches, n)
        coordinates, counts = self._features.coordinates(x), rows.counts(self._touches, x)
        blocks = list(self._blocks.contributed(x))
        n_updates = int(self._touches.n_updates)
        data = write(Contribution(self.form, base, n_updates, coordinates, counts, blocks))
        n_left, n_before = self.n_rows - n, self.n_rows
        return Offer(data, x, max(1, self.n_updates * n_left // n_before) if n_left else 0)

    def give(self, offer: Offer) -> None:
        """Take what was written for contributed; nothing is allocated."""
        rows.drop_first(self._touches, offer.x.n)
        rows.drop_zero_rows(self._table, offer.x)
        self._n_left = offer.n_updates_left

    def planned(self, mix: Mix, own: bytes | None, checksum: int) -> Move:
        """Return the way to the base that a mix makes; `own` is this lane's contribution, if it made one.

        Raises ValueError if that is no part of the mix, or the mix is of another model.
        """
        if mix.form != self.form:
            raise ValueError(f"this is a mix of {tuple(mix.form)}, not of {tuple(self.form)}")
        mine = None
        if own is not None:
            lane = mix.lane_of(own)
            mine = Mine(lane.contribution.blocks, lane.positions)
        checksum = zlib.crc32(mix.mark.to_bytes(4, "little"), checksum)
        return self._planned(mix.coordinates, mix.blocks, mine, checksum)

    def planned_adoption(self, state: Mapping[str, Any]) -> Move:
        """Return the way to another lane's base, of which this is the state."""
        coordinates, layout = self._features.unpack(state["coordinates"]), self.form.layout
        mixed = [
            as_mixed(layout, block, 1 if block.of == OF_LEARNER else len(coordinates))
            for block in read_bases(state["bases"])
        ]
        return self._planned(coordinates, mixed, None, 0)

    def _planned(
        self, coordinates: Any, mixed: Sequence[MixedBlock], mine: Mine | None, checksum: int
    ) -> Move:
        for block in mixed:
            self._meet(block.label)
        x = self._features.at(coordinates)
        try:
            plans = self._blocks.plans(x, mixed, mine)
            return Move(x, plans, checksum_of(plans, checksum))
        except BaseException:
            rows.drop_zero_rows(self._table, x)
            raise

    def carry_out(self, move: Move) -> None:
        """Go the way; nothing is allocated but single numbers."""
        for plan in move.plans:
            plan.carry_out()
        rows.drop_zero_rows(self._table, move.x)

    def squared_distance(self) -> float:
        """Compute the sum of the squared shifts that are not contributed yet."""
        return self._blocks.squared_distance(self._features.updated(self._touches, self.n_rows))

    def state(self) -> dict[str, Any]:
        """Return all that is kept beside the learner, as plain values."""
        self._blocks.update()
        kept = self._features.kept(self._blocks.row_columns())
        updated = rows.at_slots(self._table, rows.touched(self._touches, self.n_rows))
        return {
            "n_left": self._n_left,
            "n_updates": int(self._touches.n_updates),
            "coordinates": self._features.pack(kept),
            "updated": self._features.pack(updated),
            "counts": to_bytes("d", rows.counts(self._touches, updated)),
            "bases": self._blocks.dump_bases(kept),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take what `state` returned beside a copy of this learner."""
        coordinates = self._features.unpack(state["coordinates"])
        rows.drop_first(self._touches, self.n_rows)
        self._features.arrange(coordinates)
        self._blocks.update()
        self._blocks.load_bases(self._features.at(coordinates), read_bases(state["bases"]))
        updated = self._features.at(self._features.unpack(state["updated"]))
        rows.touch(self._touches, updated, from_bytes("d", state["counts"]), state["n_updates"])
        self._n_left = state["n_left"]

    def _touch_all(self) -> None:
        """Count all that was learned before."""
        x = self._features.learned()
        rows.touch(self._touches, x, [1.0] * x.n, self._learner.n_updates)

    def _meet(self, label: Any) -> None:
        """Start a class that another lane knows."""
        learner: Any = self._learner
        if label is not None and label not in learner.numbers:
            rows.meet(learner, learner.check_label(label))


def fitting(n_rows: int, max_bytes: int, written: Callable[[int], AnyOffer]) -> AnyOffer:
    """Return an offer of as many rows as fit into so many bytes. Raises ValueError if not even none fits."""
    n = min(n_rows, max(0, max_bytes) // 2)  # a row has more bytes
    while True:
        offer = written(n)
        if len(offer.data) <= max_bytes:
            return offer
        if not n:
            raise ValueError(f"max_bytes is {max_bytes}, but a contribution takes at least {len(offer.data)}")
        n = min(n - 1, n * max_bytes // len(offer.data))
