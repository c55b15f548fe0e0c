"""One model over several streams. In: a learner. Out: its contributions; the learner on a new base."""

from __future__ import annotations

import math
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

from perceptron_core.arrays.hashed_classifier import HashedClassifier
from perceptron_core.sharing import rows
from perceptron_core.sharing.blocks import Mine, SharedBlocks, as_mixed, checksum_of, read_bases
from perceptron_core.sharing.contribution import OF_LEARNER, Base, Contribution, Form, write
from perceptron_core.sharing.features import features_of
from perceptron_core.sharing.layouts import name_of_layout
from perceptron_core.sharing.mix import Mix
from perceptron_core.sharing.mixed_block import MixedBlock
from perceptron_core.weights.buffers import from_bytes, to_bytes
from perceptron_core.weights.example import Example


class SharedModel:
    """A learner that is one of several lanes of the same model.

    All lanes have a base in common: the mix of all that they contributed. A lane's model is the base and its
    own shift, what it learned and has not mixed yet. It learns as ever, through its own methods; in a round
    each lane contributes what it learned since, and applies the mix of all contributions:

        B ← B + mix,  w ← B + (what it did not contribute)

    Rounds are in step: a lane that has contributed applies the mix before it contributes again.

    Parameters
    ----------
    model
        A learner of this package, which is changed in place. What it has learned already is its shift, as if
        each feature had been updated once.

    Raises
    ------
    TypeError
        The model cannot be mixed: its class, a derived one, or what it wraps, has no weights that add up.
    ValueError
        The model is shared already.

    Notes
    -----
    While it is shared, a model changes by learning alone: weights that are set, or a state that is loaded,
    start from nothing learned, and need a `SharedModel` of their own.

    After each round the base is the same in all lanes, to the bit, on every machine, compiled or not.

    A contribution holds 24 bits of a shift. What rounding takes off stays in the lane's shift, so that
    nothing is lost: contributed and not yet contributed add up to all updates. What `undo_one` takes back
    after a round is a negative shift.

    References
    ----------
    McDonald, R., Hall, K. and Mann, G. (2010). Distributed training strategies for the structured perceptron.
    Human Language Technologies (NAACL).

    Zinkevich, M., Weimer, M., Smola, A. and Li, L. (2010). Parallelized stochastic gradient descent. Advances
    in Neural Information Processing Systems 23.

    Examples
    --------
    >>> from perceptron_core import Perceptron
    >>> from perceptron_core.sharing.mix import mix
    >>> from perceptron_core.sharing.shared_model import SharedModel
    >>> lanes = [SharedModel(Perceptron()), SharedModel(Perceptron())]
    >>> lanes[0].model.learn_one({"win": 1.0, "free": 1.0}, True)
    >>> lanes[1].model.learn_one({"win": 1.0, "noon": 1.0}, True)
    >>> contributions = [lane.contribute() for lane in lanes]
    >>> mixed = mix(contributions)
    >>> for lane, own in zip(lanes, contributions):
    ...     lane.apply(mixed, own)
    >>> lanes[0].model.weights
    {'win': 1.0, 'free': 1.0, 'noon': 1.0}
    >>> lanes[0].checksum == lanes[1].checksum
    True

    """

    def __init__(self, model: Any) -> None:
        learner = model.learner if type(model) is HashedClassifier else model
        layout_name = name_of_layout(learner)
        if learner.table.touches is not None:
            raise ValueError(f"this {type(learner).__name__} is shared already")
        self.model = model
        self._learner = learner
        self._table = learner.table
        self._form = Form(layout_name, getattr(learner, "hash_bits", None))
        self._touches = self._table.count_updates()
        self._blocks = SharedBlocks(learner, self._form.layout)
        self._features = features_of(self._table)
        self._base = Base(0, 0)
        self._in_flight: int | None = None
        self._n_left = 0
        self._touch_all()

    @property
    def n_updates(self) -> int:
        """Updates that are not contributed yet; of those contributed in part, what is left."""
        return self._n_left + int(self._touches.n_updates)

    @property
    def n_rounds(self) -> int:
        """Mixes that the base is made of."""
        return self._base.n_rounds

    @property
    def checksum(self) -> int:
        """CRC-32 of the base: of the coordinates and new values of each round, and of the round before."""
        return self._base.checksum

    def contribute(self, max_bytes: int = 1 << 20) -> bytes:
        """Return what was learned since the base and is not contributed yet.

        Parameters
        ----------
        max_bytes
            The most that is returned. Features that do not fit stay for the next rounds; those updated first
            come first.

        Raises
        ------
        RuntimeError
            The mix of the last contribution has not been applied.
        ValueError
            Not even a contribution without features fits.
        TypeError
            A feature or a class is named by something that is no string, number, boolean or tuple of these.

        """
        if self._in_flight is not None:
            raise RuntimeError(
                f"the mix of round {self.n_rounds + 1} comes first: this lane has contributed to it"
            )
        self._blocks.update()
        x, data = self._fitting(max_bytes)
        n_left, n_before = self._touches.n - x.n, self._touches.n
        n_updates_left = max(1, self.n_updates * n_left // n_before) if n_left else 0
        mark = zlib.crc32(data)
        # From here on nothing is allocated.
        rows.take(self._touches, x)
        rows.drop_zero_rows(self._table, x)
        self._in_flight, self._n_left = mark, n_updates_left
        return data

    def apply(self, mix: Mix, own: bytes | None) -> None:
        """Move to the base that a mix makes of the last one.

        Parameters
        ----------
        mix
            The contributions of all lanes, this one's included.
        own
            What this lane contributed to it; None if it is not one of them.

        Raises
        ------
        ValueError
            The mix is of another model or not of the next round, or `own` is not what this lane contributed.
            Nothing has changed.

        """
        self._check(mix, own)
        mine = None
        if own is not None:
            lane = mix.lane_of(own)
            mine = Mine(lane.contribution.blocks, lane.positions)
        for block in mix.blocks:
            self._meet(block.label)
        self._move(mix.coordinates, mix.blocks, mine, mix.mark)
        self._in_flight = None

    def distance(self) -> float:
        """Return the Euclidean norm of the shift that is not contributed yet."""
        x = self._features.updated(self._touches, self._touches.n)
        return math.sqrt(self._blocks.squared_distance(x))

    def state(self) -> dict[str, Any]:
        """Return all that is kept beside the model, as plain values."""
        self._blocks.update()
        kept = self._features.kept(self._blocks.row_columns())
        updated = rows.at_slots(self._table, rows.touched(self._touches, self._touches.n))
        return {
            "form": list(self._form),
            "base": list(self._base),
            "in_flight": self._in_flight,
            "n_left": self._n_left,
            "n_updates": int(self._touches.n_updates),
            "coordinates": self._features.pack(kept),
            "updated": self._features.pack(updated),
            "counts": to_bytes("d", rows.counts(self._touches, updated)),
            "bases": self._blocks.dump_bases(kept),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take what `state` returned beside a copy of this model.

        Afterwards all is as it was, the order of features too. Raises ValueError if it is of another model.
        """
        self._check_form(state)
        coordinates = self._features.unpack(state["coordinates"])
        rows.take_all(self._touches)
        self._features.arrange(coordinates)
        self._blocks.update()
        self._blocks.load_bases(self._features.at(coordinates), read_bases(state["bases"]))
        updated = self._features.at(self._features.unpack(state["updated"]))
        rows.touch(self._touches, updated, from_bytes("d", state["counts"]), state["n_updates"])
        self._base = Base(*state["base"])
        self._in_flight, self._n_left = state["in_flight"], state["n_left"]

    def adopt(self, state: Mapping[str, Any]) -> None:
        """Take the base of another lane, whose `state` this is, as that of a lane that had none.

        What this model has learned already stays its shift. Raises ValueError if it is of another model or if
        this lane has a base.
        """
        self._check_form(state)
        if self._base != Base(0, 0) or self._in_flight is not None:
            raise ValueError(f"this lane has a base already, of round {self.n_rounds}")
        blocks = read_bases(state["bases"])
        for block in blocks:
            self._meet(block.label)
        coordinates, layout = self._features.unpack(state["coordinates"]), self._form.layout
        mixed = [
            as_mixed(layout, block, 1 if block.of == OF_LEARNER else len(coordinates)) for block in blocks
        ]
        self._move(coordinates, mixed, None, 0, Base(*state["base"]))

    def _move(
        self,
        coordinates: Any,
        mixed: Sequence[MixedBlock],
        mine: Mine | None,
        mark: int,
        base: Base | None = None,
    ) -> None:
        """Move to the base of a mix: the next one, unless it is given. `mark` is that of the coordinates."""
        x = self._features.at(coordinates)
        try:
            plans = self._blocks.plans(x, mixed, mine)
            checksum = checksum_of(plans, zlib.crc32(mark.to_bytes(4, "little"), self._base.checksum))
            new_base = base or Base(self._base.n_rounds + 1, checksum)
            # From here on nothing is allocated but single numbers.
            for plan in plans:
                plan.carry_out()
            self._base = new_base
        finally:
            rows.drop_zero_rows(self._table, x)

    def _touch_all(self) -> None:
        """Count all that was learned before."""
        x = self._features.learned()
        rows.touch(self._touches, x, [1.0] * x.n, self._learner.n_updates)

    def _fitting(self, max_bytes: int) -> tuple[Example, bytes]:
        """Return the rows that fit, and the contribution."""
        n = min(self._touches.n, max(0, max_bytes) // 2)  # a row has more bytes
        while True:
            x, data = self._written(n)
            if len(data) <= max_bytes:
                return x, data
            if not n:
                raise ValueError(f"max_bytes is {max_bytes}, but a contribution takes at least {len(data)}")
            n = min(n - 1, n * max_bytes // len(data))

    def _written(self, n: int) -> tuple[Example, bytes]:
        """Write a contribution of the first n rows that were updated."""
        x = self._features.updated(self._touches, n)
        coordinates, counts = self._features.coordinates(x), rows.counts(self._touches, x)
        blocks = list(self._blocks.contributed(x))
        n_updates = int(self._touches.n_updates)
        return x, write(Contribution(self._form, self._base, n_updates, coordinates, counts, blocks))

    def _check(self, mix: Mix, own: bytes | None) -> None:
        if mix.form != self._form:
            raise ValueError(f"this is a mix of {tuple(mix.form)}, not of {tuple(self._form)}")
        if mix.base != self._base:
            raise ValueError(
                f"this is the mix of round {mix.base.n_rounds + 1}, to the base {mix.base.checksum:08x}; "
                f"this lane is after round {self.n_rounds}, at the base {self.checksum:08x}"
            )
        if (None if own is None else zlib.crc32(own)) != self._in_flight:
            raise ValueError(f"this is not what this lane contributed to round {self.n_rounds + 1}")

    def _check_form(self, state: Mapping[str, Any]) -> None:
        if tuple(state["form"]) != self._form:
            raise ValueError(f"this is the state of {tuple(state['form'])}, not of {tuple(self._form)}")

    def _meet(self, label: Any) -> None:
        """Start a class that another lane knows."""
        learner: Any = self._learner
        if label is not None and label not in learner.numbers:
            rows.meet(learner, learner.check_label(label))
