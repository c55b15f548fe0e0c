"""An `AutoClassifier` that is shared, learner by learner.

Shared are `AROW` and `SCW` on hashed features: on words, categories and marks, and on 4-grams of characters.
Each is mixed as where it learns alone, with its own counts of updates; lanes know a feature by its index, and
a learner by its class and name. The other learners of these features add next to nothing once two are shared,
and would make rounds four times as long. They are a lane's own, as are the mixers and the learners of dense
numbers, which see these in units of the lane.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from perceptron_core.auto.auto_classifier import AutoClassifier
from perceptron_core.auto.ensemble import Ensemble
from perceptron_core.sharing.contribution import Base, Form, Part, write_many
from perceptron_core.sharing.features import Tokens
from perceptron_core.sharing.mix import MixOfMany
from perceptron_core.sharing.shared_learner import Move, Offer, SharedLearner, fitting

_SHARED: Final = frozenset({"words: AROW", "words: SCW", "grams: AROW", "grams: SCW"})
"""Names of the learners that are shared: the group that they join with, and what they are."""
_TWO: Final = 2
_LEAST_BYTES: Final = 1024
"""For a learner in a contribution; without features it takes about 150."""


class Offers(NamedTuple):
    """A contribution that is written and not made yet."""

    data: bytes
    of_learners: Sequence[tuple[SharedLearner, Offer]]


class Moves(NamedTuple):
    """The way to a new base, computed before anything is written."""

    of_learners: Sequence[tuple[SharedLearner, Move]]
    checksum: int


class SharedAuto:
    """The learners of an `AutoClassifier` that are shared. A learner is, from the first lane on that has it.

    Parameters
    ----------
    model
        Whose classes are given.

    Raises
    ------
    TypeError
        They are not: lanes would meet them in different orders.
    ValueError
        The model is shared already.

    """

    def __init__(self, model: AutoClassifier) -> None:
        if model.classes is None:
            raise TypeError("AutoClassifier(classes=None) cannot be shared: give it its classes")
        if any(ensemble.counted for ensemble in model.ensembles):
            raise ValueError("this AutoClassifier is shared already")
        self._model = model
        self.form = Form(AutoClassifier.__name__, model.hash_bits)
        self._learners: dict[Part, SharedLearner] = {}
        self._n_groups = 0
        self._share()
        for ensemble in model.ensembles:
            ensemble.counted = _SHARED

    @property
    def n_updates(self) -> int:
        """Updates that are not contributed yet, of the learner that has most."""
        return max((learner.n_updates for learner in self._shared().values()), default=0)

    def offer(self, base: Base, max_bytes: int) -> Offers:
        """Write what was learned since the base, as much as fits.

        Of each learner the same share of its features; if that is next to nothing, of those alone that have
        most updates: the others have more of them the next time.
        """
        learning = self._most_updated(max(1, max_bytes // _LEAST_BYTES))
        n_all = sum(learner.n_rows for learner in learning.values())

        def written(n: int) -> Offers:
            offers = [each.written(base, each.n_rows * n // max(n_all, 1)) for each in learning.values()]
            data = write_many(
                self.form, base, dict(zip(learning, (offer.data for offer in offers), strict=True))
            )
            return Offers(data, [*zip(learning.values(), offers, strict=True)])

        return fitting(n_all, max_bytes, written)

    def _most_updated(self, n: int) -> Mapping[Part, SharedLearner]:
        """Return the n learners that have most updates to contribute, in the order in which they joined."""
        updated = {part: learner for part, learner in self._shared().items() if learner.n_updates}
        first = sorted(updated, key=lambda part: -updated[part].n_updates)[:n]
        return (
            {part: updated[part] for part in updated if part in first}
            if len(first) < len(updated)
            else updated
        )

    def give(self, offers: Offers) -> None:
        """Take what was written for contributed; nothing is allocated."""
        for learner, offer in offers.of_learners:
            learner.give(offer)

    def planned(self, mix: MixOfMany, own: bytes | None, checksum: int) -> Moves:
        """Return the way to the base that a mix makes; `own` is this lane's contribution, if it made one.

        Raises ValueError if that is no part of the mix, or the mix is of another model.
        """
        mine = frozenset() if own is None else mix.parts_of(own)
        moves = []
        for part, of_part in mix.mixes.items():
            learner = self._learner_of(part)
            move = learner.planned(of_part, own if part in mine else None, checksum)
            checksum = move.checksum
            moves.append((learner, move))
        return Moves(moves, checksum)

    def planned_adoption(self, state: Mapping[str, Any]) -> Moves:
        """Return the way to another lane's base, of which this is the state."""
        moves = []
        for label, name, of_learner in state["learners"]:
            learner = self._learner_of(Part(label, name))
            moves.append((learner, learner.planned_adoption(of_learner)))
        return Moves(moves, 0)

    def carry_out(self, moves: Moves) -> None:
        """Go the way; nothing is allocated but single numbers."""
        for learner, move in moves.of_learners:
            learner.carry_out(move)

    def squared_distance(self) -> float:
        """Compute the sum of the squared shifts that are not contributed yet."""
        total = 0.0
        for learner in self._shared().values():
            total += learner.squared_distance()
        return total

    def state(self) -> dict[str, Any]:
        """Return all that is kept beside the model, as plain values."""
        return {"learners": [[*part, learner.state()] for part, learner in self._shared().items()]}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take what `state` returned beside a copy of this model."""
        for label, name, of_learner in state["learners"]:
            self._learner_of(Part(label, name)).restore(of_learner)

    def _shared(self) -> Mapping[Part, SharedLearner]:
        """Return the learners that are shared, those that joined since among them."""
        self._share()
        return self._learners

    def _share(self) -> None:
        """Share the learners that joined; their tables count updates since they did."""
        model = self._model
        if len(model.groups) == self._n_groups:
            return
        labels = model.labels[1:] if len(model.labels) <= _TWO else model.labels
        found = {}
        for label, ensemble in zip(labels, model.ensembles, strict=True):
            for k, name in enumerate(ensemble.names):
                if name in _SHARED:
                    part = Part(label, name)
                    found[part] = self._learners.get(part) or self._made(ensemble, k)
        self._learners, self._n_groups = found, len(model.groups)

    def _made(self, ensemble: Ensemble, k: int) -> SharedLearner:
        rule = ensemble.rules[k]
        return SharedLearner(rule, self._model.hash_bits, Tokens(rule.table, self._model, ensemble.map_of(k)))

    def _learner_of(self, part: Part) -> SharedLearner:
        """Return a learner, which joins if this lane has none of its map yet. Raises ValueError for none."""
        group = part.name.partition(":")[0]
        if part.name in _SHARED and group not in self._model.groups:
            self._model.join(group)
        try:
            return self._shared()[part]
        except KeyError:
            raise ValueError(f"this model has no learner {part.name!r} of the class {part.label!r}") from None
