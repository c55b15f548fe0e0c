# cython: infer_types=True
"""The choice of the candidates that predict, by their losses; and the last scored event.

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
    """The last scored event: a text, or a dictionary with immutable values."""

    def __init__(self) -> None:
        self._text: str | None = None
        self._state = 0
        """Version of the dictionary's contents, if available; else 0."""
        self._items: list[Any] | None = None
        """Names and values, alternating."""

    def forget(self) -> None:
        """Forget the last scored event, as something was learned since."""
        self._text = self._items = None
        self._state = 0

    def keep(self, x: Any) -> None:
        """Note an event as the last scored one."""
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
        """Return whether an event has the same objects as the last scored one, in the same order."""
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
"""Number of prompt labels in a row after which labels count as prompt again."""
_A_FEW: Final = 64
"""Largest number of labels between an event's prediction and its own label if that is prompt."""
_AVERAGED: Final = 2
"""Number of mixers that are averaged."""
COMBINED: Final = -1
"""Number of the combined prediction, among the numbers of candidates."""


class Lead:
    """The losses of the candidates, first mixers and then experts, and the weight of each in the prediction.

    Some mixers are for prompt labels, others for late labels. Labels are prompt if at most 64 others arrive
    between an event's prediction and its own label. This is assumed at first, ends with the first late label,
    and holds again after 1,000 prompt labels in a row. A mixer that is not in use counts as good as the
    first.

    While labels are prompt, the candidate with the least discounted loss predicts. With late labels, the
    recent leader is of little use, and the right discount would depend on the delay. Then the prediction is a
    weighted mean of the candidates. The weight of each is its regret: the sum, cut at 0 with each label, of
    the combined prediction's loss minus the candidate's loss. This has no parameter for the delay.

    Parameters
    ----------
    n_always, n_late, n_prompt
        Number of mixers that are always used, that are used with late labels, and with prompt labels.
    most
        Largest number of candidates.
    averages
        Whether the first two mixers are averaged when an always used mixer leads: the mean of their log-odds,
        weighted by exp(−discounted log loss). Otherwise the ranking of scores would break whenever the lead
        changes. The same holds for late labels as long as no candidate has regret.

    Attributes
    ----------
    n : int
        Number of candidates.
    leader : int
        Number of the leading candidate; with late labels, of the candidate with the largest weight.
    prompt_labels : int
        Number of prompt labels since the last late one, at most 1,000.
    weights : array
        Weight of each candidate's log-odds in the prediction.
    discount : float
        Factor of losses with each label.

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
        self._log_losses, self._loss = doubles(_AVERAGED), 0.0
        self._set_weights()

    def is_prompt(self) -> bool:
        """Return whether labels are prompt."""
        return self.prompt_labels >= _PROMPT

    def note_lateness(self, lateness: float) -> None:
        """Note the number of labels between an event's prediction and its label."""
        if lateness > _A_FEW and self._n_always < self._n_mixers:
            self.prompt_labels = 0
        elif self.prompt_labels < _PROMPT:
            self.prompt_labels += 1

    def evaluate(self, candidate: int, loss: float, log_loss: float = 0.0) -> None:
        """Add to the loss and the log loss of a candidate; `COMBINED` is evaluated first, then the first."""
        if candidate < 0:
            self._loss = loss
            return
        if candidate < _AVERAGED:
            self._log_losses[candidate] = self.discount * self._log_losses[candidate] + log_loss
        regret = 0.0
        if self.is_in_use(candidate):
            self._losses[candidate] = self.discount * self._losses[candidate] + loss
            if not self.is_prompt():
                regret = max(self._regrets[candidate] + self._loss - loss, 0.0)
        else:
            self._losses[candidate] = self._losses[0]
        self._regrets[candidate] = regret

    def choose(self) -> None:
        """Choose the leader, the candidate in use with the least loss, or the weights by regret."""
        self.leader = 0
        for k in range(1, self.n):
            if self._losses[k] < self._losses[self.leader] and self.is_in_use(k):
                self.leader = k
        self._set_weights()

    def _set_weights(self) -> None:
        total = 0.0
        for k in range(self.n):
            total += self._regrets[k]
        if total > 0.0:
            for k in range(self.n):
                self.weights[k] = self._regrets[k] / total
                if self._regrets[k] > self._regrets[self.leader]:
                    self.leader = k
        else:
            self.follow(self.leader, logistic(self._log_losses[1] - self._log_losses[0]))

    def follow(self, leader: int, share: float) -> None:
        """Let `leader` predict; if it is one of averaged mixers, the first two, the first with this share."""
        for k in range(self.n):
            self.weights[k] = 0.0
        if self._averages and leader < self._n_always:
            self.weights[0], self.weights[1] = share, 1.0 - share
        else:
            self.weights[leader] = 1.0

    def is_in_use(self, candidate: int) -> bool:
        """Return whether a candidate is in use: always, or with labels as prompt or late as at present."""
        if candidate < self._n_always or candidate >= self._n_mixers:
            return True
        return (candidate >= self._n_blind) == self.is_prompt()

    def set_n_experts(self, n_experts: int) -> None:
        """Set the number of experts among the candidates; new ones start as good as the first."""
        n = self._n_mixers + n_experts
        for k in range(self.n, n):
            self._losses[k] = self._losses[0]
        self.n = n

    def get_state(self) -> dict[str, Any]:
        """Return the losses, the leader and, if there are such mixers, whether labels are prompt."""
        state = {"losses": memoryview(self._losses)[: self.n].tolist(), "leader": self.leader}
        state |= {"surprises": memoryview(self._log_losses).tolist()} if self._averages else {}
        if self._n_always < self._n_mixers:
            state["regrets"] = memoryview(self._regrets)[: self.n].tolist()
            state["prompt_labels"] = self.prompt_labels
        return state

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Set a state from `get_state` with as many candidates. Raises `ValueError` if it is invalid."""
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
                self._log_losses[k] = loss
        self._set_weights()
