"""The rounds of a shared model, as one partition has applied them.

A share begins with a round that has one contribution: an empty one from lane 0, with the number of lanes of
the next round. From then on a round is closed once each of its lanes has contributed; the lanes of the next
round are those that any of these contributions names. So all partitions agree on the members, and on the
base.

No I/O and no clock: the state is a function of what the model learned and of the rounds applied in between.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from perceptron_core.sharing.mix import AnyMix
from perceptron_core.sharing.shared_model import SharedModel
from service.errors import ConfigurationError
from service.models.learner import Learner
from service.sharing.contribution import Contribution

MOST_BYTES: Final = 131_072
"""Of a contribution. What does not fit stays for the next round."""

_NOT_BEGUN: Final = {"start": -1, "round": -1, "sent": -1, "n_lanes": 0, "taken_over": -1}


class Rounds:
    """A partition's model, as one of several that are mixed.

    Parameters
    ----------
    learner
        Drives the model.

    Attributes
    ----------
    start : int
        The round that opened the share; −1 before this partition has begun.
    round : int
        The last round that was applied.
    sent : int
        The last round that this partition has contributed to.
    n_lanes : int
        Lanes of the round after `round`.
    taken_over : int
        Up to this round the lane's contributions are of a former state of this partition, which was lost.

    Raises
    ------
    ConfigurationError
        The model cannot be mixed.

    """

    start: int
    round: int
    sent: int
    n_lanes: int
    taken_over: int

    def __init__(self, learner: Learner) -> None:
        self._learner: Any = learner
        try:
            self.restore(None)
        except TypeError as error:
            raise ConfigurationError(
                f"share_model: {error}", hint="leave share_model off, or choose another --model"
            ) from error

    @property
    def has_begun(self) -> bool:
        """Whether this partition takes part."""
        return self.start >= 0

    @property
    def has_contributed(self) -> bool:
        """Whether this partition, none of its former states, has contributed to the round after `round`."""
        return self.sent > max(self.round, self.taken_over)

    def is_member(self, lane: int) -> bool:
        """Return whether this partition contributes to the next round, and none of its former states has."""
        return lane < self.n_lanes and self.round + 1 > self.taken_over

    def open(self, start: int) -> None:
        """Open a share as lane 0: with a round of its own, in which nothing is mixed."""
        self.start, self.round, self.sent, self.n_lanes, self.taken_over = start, start - 1, start, 1, -1

    def begin(self, opening: Contribution) -> None:
        """Take part from the first round on; what was learned before is this lane's first contribution."""
        if self.has_begun:  # in an earlier share
            self._share(self.shared.model.clone(include_attributes=True))
        self.start = self.round = self.sent = opening.round
        self.n_lanes, self.taken_over = opening.n_lanes, -1

    def adopt(self, state: Mapping[str, Any], sent: int) -> int:
        """Adopt another lane's base for this model; `sent` is the partition's last contribution, or −1.

        What a model has learned that never took part stays its shift. Otherwise it is forgotten: the base may
        hold it already. Returns the number of updates that are forgotten.
        """
        n_forgotten = 0
        if self.has_begun or sent >= 0:
            n_forgotten = self.shared.n_updates
            self._share(self.shared.model.clone())
        self.shared.adopt(state["model"])
        self.start, self.round, self.n_lanes = state["start"], state["round"], state["n_lanes"]
        self.sent = self.taken_over = max(sent, self.round)
        return n_forgotten

    def _share(self, model: Any) -> None:  # noqa: ANN401 - as the learner has it
        """Put a model in the place of the present one, and share it from the beginning."""
        self._learner.model = model
        self.shared = SharedModel(model)

    def apply(self, contributions: Sequence[Contribution], mix: AnyMix | None, lane: int) -> None:
        """Close the next round, of which these are the contributions and their mix; None opens a share."""
        number = self.round + 1
        if contributions[0].round != number:
            raise ValueError(f"round {contributions[0].round} after {self.round}")
        if mix is not None:
            self.shared.apply(mix, contributions[lane].value if self.is_member(lane) else None)
        self.round = number
        self.sent = max(self.sent, number)
        self.n_lanes = max(self.n_lanes, *(each.n_lanes for each in contributions))

    def contribute(self) -> bytes:
        """Return this lane's contribution to the next round."""
        self.sent = self.round + 1
        return self.shared.contribute(MOST_BYTES)

    def progress(self) -> Mapping[str, int]:
        """Return the fields of a progress record about the rounds; empty before this partition has begun."""
        if not self.has_begun:
            return {}
        return {
            "start": self.start,
            "round": self.round,
            "sent": self.sent,
            "checksum": self.shared.checksum,
        }

    def state(self) -> dict[str, Any]:
        """Return the state as plain values, without the model itself."""
        numbers = {name: getattr(self, name) for name in _NOT_BEGUN}
        return {**numbers, "model": self.shared.state()}

    def restore(self, state: Mapping[str, Any] | None) -> None:
        """Restore what `state` returned, on the model as it was then; None: it has not begun."""
        self.shared = SharedModel(getattr(self._learner, "model", self._learner))
        if state is not None:
            self.shared.restore(state["model"])
        for name, number in _NOT_BEGUN.items():
            setattr(self, name, number if state is None else state[name])
