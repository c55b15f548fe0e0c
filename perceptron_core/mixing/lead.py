"""Which candidates answer, by their losses; and the event scored last.

`lead.pxd` gives this module its C types.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from typing import Any, Final

from perceptron_core import memory
from perceptron_core.elementary import logistic
from perceptron_core.linear import restored
from perceptron_core.weights.buffers import doubles

_IMMUTABLE: Final = frozenset({str, float, int, bool, type(None)})


class LastEvent:
    """The event scored last: a text, or a dictionary of names and of values that cannot change."""

    def __init__(self) -> None:
        self._text: str | None = None
        self._state = 0
        """State of the dictionary, if states can be distinguished; else 0."""
        self._items: list[Any] | None = None
        """Names and values by turns."""

    def forget(self) -> None:
        """Take no event for the one scored last: something was learned since."""
        self._text = self._items = None
        self._state = 0

    def keep(self, x: Any) -> None:
        """Take an event for the one scored last."""
        self.forget()
        if type(x) is str:
            self._text = x
        elif type(x) is dict:
            for name, value in x.items():
                if type(name) is not str or not (type(value) is float or type(value) in _IMMUTABLE):
                    return
            self._state = memory.state_of(x)
            if not self._state:
                self._items = [*chain.from_iterable(x.items())]

    def is_same(self, x: Any) -> bool:
        """Return whether an event has the same objects as the one scored last, in the same order."""
        if type(x) is not dict:
            return self._text is not None and x is self._text
        if self._items is None:
            return self._state != 0 and memory.state_of(x) == self._state
        items, at = self._items, 0
        if len(items) != 2 * len(x):
            return False
        for name, value in x.items():
            if items[at] is not name or items[at + 1] is not value:
                return False
            at += 2
        return True


_PROMPT: Final = 1000
"""Labels in a row that came at once, so that more are expected to."""
_A_FEW: Final = 64
"""Labels between the prediction of an event and its own that do not make it late."""
_AVERAGED: Final = 2
"""Mixers that answer together."""
GIVEN: Final = -1
"""Stands for the answer that was given, where candidates are numbered."""


class Lead:
    """The losses of the candidates, which are mixers and then learners, and what each weighs in the answer.

    Some mixers are for labels that come at once, others for labels that come late. Labels come at once as
    long as at most 64 others come between the prediction of an event and its own: that is supposed at first,
    untrue from the first one of which it is not true, and true again after 1,000 of which it is. A mixer that
    is not in use counts as good as the first.

    The candidate with the least discounted loss answers while labels come at once. Which one leads lately is
    of little use where labels are late, and a discount would have to know how late. There, candidates answer
    together, each weighted by its regret: the sum, cut at 0 with each label, of what the answer given lost
    more than the candidate would have. Nothing has to be chosen, neither a discount nor a rate for the delay.

    Parameters
    ----------
    n_always, n_late, n_prompt
        Mixers that are always in use, those for late labels, and those for labels that come at once.
    most
        Most candidates.
    averages
        Whether the first two answer together where a mixer leads that is always in use: by the mean of their
        log-odds, each weighted by exp(−its discounted log loss). Ranks would be broken each time the lead
        changes hands. The same holds for late labels as long as no candidate has regret.

    Attributes
    ----------
    n : int
        Candidates.
    leader : int
        Number of the leader: the candidate that leads, or has the largest weight if labels are late.
    prompt_labels : int
        Labels that came at once since the last one that did not, at most 1,000.
    weights : array
        Of each candidate's log-odds in the answer.
    discount : float
        Of losses, with each label.

    References
    ----------
    Raftery, A. E., Kárný, M. and Ettler, P. (2010). Online prediction under model uncertainty via dynamic
    model averaging. Technometrics 52(1).
    Flaspohler, G. et al. (2021). Online learning with optimism and delay. ICML, algorithm DORM+ (regret
    matching as in Tammelin (2014), Solving large imperfect information games using CFR+).

    """

    def __init__(self, n_always: int, n_late: int, n_prompt: int, most: int, averages: bool = False) -> None:
        self._n_always, self._n_blind = n_always, n_always + n_late
        self.n = self._n_mixers = n_always + n_late + n_prompt
        self.leader = 0
        self.prompt_labels = _PROMPT
        self.discount = 1.0
        self._averages = averages
        self.weights, self._losses, self._regrets = doubles(most), doubles(most), doubles(most)
        self._surprises, self._loss = doubles(_AVERAGED), 0.0
        self._weigh()

    def is_prompt(self) -> bool:
        """Return whether labels come at once."""
        return self.prompt_labels >= _PROMPT

    def note(self, lateness: float) -> None:
        """Note how many labels came between the prediction of an event and its label."""
        if lateness > _A_FEW and self._n_always < self._n_mixers:
            self.prompt_labels = 0
        elif self.prompt_labels < _PROMPT:
            self.prompt_labels += 1

    def evaluate(self, candidate: int, loss: float, surprise: float = 0.0) -> None:
        """Add to the loss and the log loss of a candidate; `GIVEN` is evaluated first, then the first."""
        if candidate < 0:
            self._loss = loss
            return
        if candidate < _AVERAGED:
            self._surprises[candidate] = self.discount * self._surprises[candidate] + surprise
        regret = 0.0
        if self.is_in_use(candidate):
            self._losses[candidate] = self.discount * self._losses[candidate] + loss
            if not self.is_prompt():
                regret = max(self._regrets[candidate] + self._loss - loss, 0.0)
        else:
            self._losses[candidate] = self._losses[0]
        self._regrets[candidate] = regret

    def choose(self) -> None:
        """Let the candidate in use with the least loss lead, or those with regret answer."""
        self.leader = 0
        for k in range(1, self.n):
            if self._losses[k] < self._losses[self.leader] and self.is_in_use(k):
                self.leader = k
        self._weigh()

    def _weigh(self) -> None:
        total = 0.0
        for k in range(self.n):
            total += self._regrets[k]
        if total > 0.0:
            for k in range(self.n):
                self.weights[k] = self._regrets[k] / total
                if self._regrets[k] > self._regrets[self.leader]:
                    self.leader = k
        else:
            self.follow(self.leader, logistic(self._surprises[1] - self._surprises[0]))

    def follow(self, leader: int, share: float) -> None:
        """Let a candidate answer, or the first two candidates in its place, the first with this share."""
        for k in range(self.n):
            self.weights[k] = 0.0
        if self._averages and leader < self._n_always:
            self.weights[0], self.weights[1] = share, 1.0 - share
        else:
            self.weights[leader] = 1.0

    def is_in_use(self, candidate: int) -> bool:
        """Return whether a candidate is always, or for labels that come as they do."""
        if candidate < self._n_always or candidate >= self._n_mixers:
            return True
        return (candidate >= self._n_blind) == self.is_prompt()

    def join(self, n_learners: int) -> None:
        """Set the number of learners that are candidates; new ones start as good as the first."""
        n = self._n_mixers + n_learners
        for k in range(self.n, n):
            self._losses[k] = self._losses[0]
        self.n = n

    def get_state(self) -> dict[str, Any]:
        """Return losses, leader and, where it matters, how labels come."""
        state = {"losses": memoryview(self._losses)[: self.n].tolist(), "leader": self.leader}
        state |= {"surprises": memoryview(self._surprises).tolist()} if self._averages else {}
        if self._n_always < self._n_mixers:
            state["regrets"] = memoryview(self._regrets)[: self.n].tolist()
            state["prompt_labels"] = self.prompt_labels
        return state

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Take what `get_state` returned of as many candidates. Raises ValueError for anything else."""
        losses = restored.several(state["losses"], restored.size, self.n)
        leader = restored.count(state["leader"])
        if leader and leader >= self.n:
            raise ValueError(f"candidate {leader} leads {self.n}")
        self.leader = leader
        for k, loss in enumerate(losses):
            self._losses[k] = loss
        if self._n_always < self._n_mixers:
            self.prompt_labels = restored.whole(_PROMPT)(state["prompt_labels"])
            for k, regret in enumerate(restored.several(state["regrets"], restored.size, self.n)):
                self._regrets[k] = regret
        if self._averages:
            for k, loss in enumerate(restored.several(state["surprises"], restored.size, _AVERAGED)):
                self._surprises[k] = loss
        self._weigh()
