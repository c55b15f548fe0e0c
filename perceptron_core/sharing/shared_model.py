"""A model that several lanes learn together, each from a stream of its own."""

from __future__ import annotations

import math
import zlib
from collections.abc import Mapping
from typing import Any

from perceptron_core.auto.auto_classifier import AutoClassifier
from perceptron_core.sharing.contribution import Base
from perceptron_core.sharing.mix import AnyMix
from perceptron_core.sharing.shared_auto import SharedAuto
from perceptron_core.sharing.shared_learner import SharedLearner


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
        each feature had been updated once. Of an `AutoClassifier`, whose classes are given, AROW and SCW on
        hashed features are shared; the rest of it is the lane's own.

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
        self.model = model
        is_auto = type(model) is AutoClassifier
        self._shared: Any = SharedAuto(model) if is_auto else SharedLearner.of(model)
        self._base = Base(0, 0)
        self._in_flight: int | None = None

    @property
    def n_updates(self) -> int:
        """Updates that are not contributed yet; of those contributed in part, what is left.

        Of several learners, those of the one that has most.
        """
        return int(self._shared.n_updates)

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
        offer = self._shared.offer(self._base, max_bytes)
        data: bytes = offer.data
        mark = zlib.crc32(data)
        # From here on nothing is allocated.
        self._shared.give(offer)
        self._in_flight = mark
        return data

    def apply(self, mix: AnyMix, own: bytes | None) -> None:
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
        move = self._shared.planned(mix, own, self._base.checksum)
        base = Base(self._base.n_rounds + 1, move.checksum)
        # From here on nothing is allocated but single numbers.
        self._shared.carry_out(move)
        self._base, self._in_flight = base, None

    def distance(self) -> float:
        """Return the Euclidean norm of the shift that is not contributed yet."""
        return math.sqrt(self._shared.squared_distance())

    def state(self) -> dict[str, Any]:
        """Return all that is kept beside the model, as plain values."""
        return {
            "form": list(self._shared.form),
            "base": list(self._base),
            "in_flight": self._in_flight,
            **self._shared.state(),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take what `state` returned beside a copy of this model.

        Afterwards all is as it was, the order of features too. Raises ValueError if it is of another model.
        """
        self._check_form(state)
        self._shared.restore(state)
        self._base, self._in_flight = Base(*state["base"]), state["in_flight"]

    def adopt(self, state: Mapping[str, Any]) -> None:
        """Take the base of another lane, whose `state` this is, as that of a lane that had none.

        What this model has learned already stays its shift. Raises ValueError if it is of another model or if
        this lane has a base.
        """
        self._check_form(state)
        if self._base != Base(0, 0) or self._in_flight is not None:
            raise ValueError(f"this lane has a base already, of round {self.n_rounds}")
        move = self._shared.planned_adoption(state)
        base = Base(*state["base"])
        # From here on nothing is allocated but single numbers.
        self._shared.carry_out(move)
        self._base = base

    def _check(self, mix: AnyMix, own: bytes | None) -> None:
        if mix.form != self._shared.form:
            raise ValueError(f"this is a mix of {tuple(mix.form)}, not of {tuple(self._shared.form)}")
        if mix.base != self._base:
            raise ValueError(
                f"this is the mix of round {mix.base.n_rounds + 1}, to the base {mix.base.checksum:08x}; "
                f"this lane is after round {self.n_rounds}, at the base {self.checksum:08x}"
            )
        if (None if own is None else zlib.crc32(own)) != self._in_flight:
            raise ValueError(f"this is not what this lane contributed to round {self.n_rounds + 1}")

    def _check_form(self, state: Mapping[str, Any]) -> None:
        if tuple(state["form"]) != self._shared.form:
            raise ValueError(
                f"this is the state of {tuple(state['form'])}, not of {tuple(self._shared.form)}"
            )
