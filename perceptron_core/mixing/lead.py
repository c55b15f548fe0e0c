"""Which candidate's answer is given: that of the one with the least loss lately.

`lead.pxd` gives this module its C types.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from perceptron_core.base import restored
from perceptron_core.weights.buffers import doubles

_PROMPT: Final = 1000
"""Labels in a row that came before any label of another event, so that more are expected to."""
_OF_LATE_LABELS: Final = 0.9993
"""Discount of losses, at least: labels that come late tell less of what leads next."""


class Lead:
    """The losses of the candidates, which are mixers and then learners, and the one that leads.

    Some mixers are for labels that come at once, others for labels that come late. Labels come at once as
    long as each does before any label of another event: that is supposed at first, untrue from the first one
    that does not, and true again after 1,000 that do. A mixer that is not in use counts as good as the first.

    Parameters
    ----------
    n_always, n_late, n_prompt
        Mixers that are always in use, those for late labels, and those for labels that come at once.
    most
        Most candidates.

    Attributes
    ----------
    n : int
        Candidates.
    leader : int
        The number of the one that leads; of several, the first.
    prompt_labels : int
        Labels that came at once since the last one that did not, at most 1,000.
    discount : float
        Of losses, with each label.

    """

    def __init__(self, n_always: int, n_late: int, n_prompt: int, most: int) -> None:
        self._n_always, self._n_blind = n_always, n_always + n_late
        self.n = self._n_mixers = n_always + n_late + n_prompt
        self.leader = 0
        self.prompt_labels = _PROMPT
        self.discount = 1.0
        self._losses = doubles(most)

    def is_prompt(self) -> bool:
        """Return whether labels come at once."""
        return self.prompt_labels >= _PROMPT

    def note(self, is_late: bool) -> None:
        """Note whether a label came after that of an event which was predicted later, or learned since."""
        if is_late and self._n_always < self._n_mixers:
            self.prompt_labels = 0
        elif self.prompt_labels < _PROMPT:
            self.prompt_labels += 1

    def judge(self, candidate: int, loss: float) -> None:
        """Add to the loss of a candidate; the first is judged first."""
        if self._is_in_use(candidate):
            discount = self.discount if self.is_prompt() else max(self.discount, _OF_LATE_LABELS)
            self._losses[candidate] = discount * self._losses[candidate] + loss
        else:
            self._losses[candidate] = self._losses[0]

    def choose(self) -> None:
        """Let the candidate in use with the least loss lead."""
        self.leader = 0
        for k in range(1, self.n):
            if self._losses[k] < self._losses[self.leader] and self._is_in_use(k):
                self.leader = k

    def _is_in_use(self, candidate: int) -> bool:
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
