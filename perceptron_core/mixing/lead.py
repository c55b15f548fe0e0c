"""Which candidate's answer is given: that of the one with the least loss lately.

`lead.pxd` gives this module its C types.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from perceptron_core.base import restored
from perceptron_core.logistic import logistic
from perceptron_core.weights.buffers import doubles

_PROMPT: Final = 1000
"""Labels in a row that came at once, so that more are expected to."""
_A_FEW: Final = 64
"""Labels between the prediction of an event and its own that do not make it late."""
_AVERAGED: Final = 2
"""Mixers that answer together."""
_OF_LATE_LABELS: Final = 0.9993
"""Discount of losses, at least: labels that come late tell less of what leads next."""


class Lead:
    """The losses of the candidates, which are mixers and then learners, and the one that leads.

    Some mixers are for labels that come at once, others for labels that come late. Labels come at once as
    long as at most 64 others come between the prediction of an event and its own: that is supposed at first,
    untrue from the first one of which it is not true, and true again after 1,000 of which it is. A mixer that
    is not in use counts as good as the first.

    Parameters
    ----------
    n_always, n_late, n_prompt
        Mixers that are always in use, those for late labels, and those for labels that come at once.
    most
        Most candidates.
    averages
        Whether the first two answer together where a mixer leads that is always in use: by the mean of their
        log-odds, each weighted by exp(−its discounted log loss). Ranks would be broken each time the lead
        changes hands.

    Attributes
    ----------
    n : int
        Candidates.
    leader : int
        The number of the one that leads; of several, the first.
    prompt_labels : int
        Labels that came at once since the last one that did not, at most 1,000.
    share : float
        Of the first mixer in the mean of two.
    discount : float
        Of losses, with each label.

    References
    ----------
    Raftery, A. E., Kárný, M. and Ettler, P. (2010). Online prediction under model uncertainty via dynamic
    model averaging. Technometrics 52(1).

    """

    def __init__(self, n_always: int, n_late: int, n_prompt: int, most: int, averages: bool = False) -> None:
        self._n_always, self._n_blind = n_always, n_always + n_late
        self.n = self._n_mixers = n_always + n_late + n_prompt
        self.leader = 0
        self.prompt_labels = _PROMPT
        self.discount = 1.0
        self._averages = averages
        self.share = 0.5
        self._losses, self._surprises = doubles(most), doubles(_AVERAGED)

    def is_prompt(self) -> bool:
        """Return whether labels come at once."""
        return self.prompt_labels >= _PROMPT

    def note(self, lateness: float) -> None:
        """Note how many labels came between the prediction of an event and its label."""
        if lateness > _A_FEW and self._n_always < self._n_mixers:
            self.prompt_labels = 0
        elif self.prompt_labels < _PROMPT:
            self.prompt_labels += 1

    def is_mean(self, leader: int) -> bool:
        """Return whether two mixers answer together where a candidate leads."""
        return self._averages and leader < self._n_always

    def judge(self, candidate: int, loss: float, surprise: float = 0.0) -> None:
        """Add to the loss and the log loss of a candidate; the first is judged first."""
        discount = self.discount if self.is_prompt() else max(self.discount, _OF_LATE_LABELS)
        if candidate < _AVERAGED:
            self._surprises[candidate] = discount * self._surprises[candidate] + surprise
        if self.is_in_use(candidate):
            self._losses[candidate] = discount * self._losses[candidate] + loss
        else:
            self._losses[candidate] = self._losses[0]

    def choose(self) -> None:
        """Let the candidate in use with the least loss lead."""
        self.leader = 0
        for k in range(1, self.n):
            if self._losses[k] < self._losses[self.leader] and self.is_in_use(k):
                self.leader = k
        if self._averages:
            self.share = logistic(self._surprises[1] - self._surprises[0])

    def is_in_use(self, candidate: int) -> bool:
        """Return whether a candidate is always, or for labels that come as they do."""
        if candidate < self._n_always or candidate >= self._n_mixers:
            return True
        return (candidate >= self._n_blind) == self.is_prompt()

    def join(self, n_learners: int) -> None:
        """Take so many learners for candidates; new ones are as good as the first until they are judged."""
        n = self._n_mixers + n_learners
        for k in range(self.n, n):
            self._losses[k] = self._losses[0]
        self.n = n

    def get_state(self) -> dict[str, Any]:
        """Return losses, leader and, where it matters, how labels come."""
        state = {"losses": memoryview(self._losses)[: self.n].tolist(), "leader": self.leader}
        state |= {"surprises": memoryview(self._surprises).tolist()} if self._averages else {}
        return state | ({"prompt_labels": self.prompt_labels} if self._n_always < self._n_mixers else {})

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Take what `get_state` returned of as many candidates. Raises ValueError for anything else."""
        losses = restored.several(state["losses"], restored.size, self.n)
        leader = restored.count(state["leader"])
        if leader and leader >= self.n:
            raise ValueError(f"candidate {leader} leads {self.n}")
        self.prompt_labels = restored.whole(_PROMPT)(state.get("prompt_labels", _PROMPT))
        self.leader = leader
        for k, loss in enumerate(losses):
            self._losses[k] = loss
        if self._averages:
            for k, loss in enumerate(restored.several(state["surprises"], restored.size, _AVERAGED)):
                self._surprises[k] = loss
            self.share = logistic(self._surprises[1] - self._surprises[0])
