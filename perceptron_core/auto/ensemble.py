"""The learners of one class and their mixture. In: an event as examples, one a map. Out: log-odds.

`ensemble.pxd` gives this module its C types.
"""

from __future__ import annotations

from array import array
from typing import Final

from perceptron_core.base.linear_rule import LinearRule
from perceptron_core.mixing.mixer import Mixer
from perceptron_core.weights.example import Example

_CLIP: Final = 8.0
"""Of the log-odds that are mixed."""
MOST_EXPERTS: Final = 32


class Ensemble:
    """Linear learners, each on one of the maps; two mixers over all of them; and the favourites' own answers.

    Attributes
    ----------
    rules : list
        The learners.
    answers : array
        Of the candidates for the lead, log-odds: those of the mixers, then those of the favourites.

    """

    def __init__(self, *mixers: Mixer) -> None:
        self.names: list[str] = []
        self.rules: list[LinearRule] = []
        self.mixers = [*mixers]
        self.favourites: list[int] = []
        self.n = 0
        self.n_words = self.n_grams = self.n_pairs = 0
        self.maps = array("i", bytes(4 * MOST_EXPERTS))
        self.factors = _doubles(MOST_EXPERTS)
        self.scores = _doubles(MOST_EXPERTS)
        self.inputs = _doubles(MOST_EXPERTS)
        self.answers = _doubles(MOST_EXPERTS)
        self._favourites = array("i", bytes(4 * MOST_EXPERTS))

    def join(
        self, name: str, rule: LinearRule, map_number: int, factor: float, weight: float, is_favourite: bool
    ) -> None:
        """Add a learner on a map, whose score times `factor` is a log-odds."""
        last = self.n
        self.names.append(name)
        self.rules.append(rule)
        self.maps[last] = map_number
        self.factors[last] = factor
        for mixer in self.mixers:
            mixer.join(weight)
        if is_favourite:
            self._favourites[len(self.favourites)] = last
            self.favourites.append(last)
        self.n = last + 1
        self.n_words = self.n_grams = self.n_pairs = 0  # the new tables are short

    def score(self, examples: list[Example], speaks: bytearray) -> None:
        """Compute `answers` for an event; learners of a map that says nothing of it count as undecided."""
        for k in range(self.n):
            self.inputs[k] = 0.0
            if speaks[self.maps[k]]:
                rule = self.rules[k]
                score = rule.score(examples[self.maps[k]])
                self.scores[k] = score
                self.inputs[k] = max(-_CLIP, min(score * self.factors[k], _CLIP))
        for k in range(len(self.mixers)):
            mixer = self.mixers[k]
            self.answers[k] = mixer.mix(self.inputs)
        for k in range(len(self.favourites)):
            self.answers[len(self.mixers) + k] = self.inputs[self._favourites[k]]

    def learn(self, examples: list[Example], speaks: bytearray, target: bool, w: float) -> None:
        """Learn the event whose scores are computed."""
        for k in range(len(self.mixers)):
            mixer = self.mixers[k]
            mixer.learn(self.inputs, target, w, self.answers[k])
        for k in range(self.n):
            if speaks[self.maps[k]]:
                rule = self.rules[k]
                rule.learn_at(examples[self.maps[k]], 1 if target else -1, w, self.scores[k])

    def widen(self, map_number: int, n_slots: int) -> None:
        """Make room for so many slots of a map."""
        for k in range(self.n):
            if self.maps[k] == map_number:
                rule = self.rules[k]
                rule.table.widen(n_slots)


def _doubles(n: int) -> array[float]:
    return array("d", bytes(8 * n))
