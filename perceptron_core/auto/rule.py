"""The compiled half of `AutoClassifier`. In: events and labels. Out: log-odds by class.

`rule.pxd` gives this module its C types.
"""

from __future__ import annotations

from array import array
from typing import Any, Final

from perceptron_core.auto import experts
from perceptron_core.auto.ensemble import MOST_EXPERTS, Ensemble
from perceptron_core.auto.feature_maps import GRAMS, LINEAR, PAIRED, WORDS, FeatureMaps

_GROUP_OF_MAP: Final = ((WORDS, "words"), (GRAMS, "grams"), (LINEAR, "dense"))


class AutoRule:
    """Shows events to an ensemble of each class, and follows the candidate with the fewest mistakes.

    Of two classes, there is one ensemble, that of True.
    """

    maps: FeatureMaps
    labels: list[Any]
    numbers: dict[Any, int]
    ensembles: list[Ensemble]
    groups: list[str]
    losses: array[float]
    n_candidates: int
    leader: int
    discount: float
    n_mistakes: int
    n_updates: int
    is_binary: bool

    def start(self, bits: int, seed: int, limit: int) -> None:
        """Start with nothing learned."""
        self.maps = FeatureMaps(bits, seed, limit)
        self.labels, self.numbers, self.ensembles, self.groups = [], {}, [], []
        self.losses = array("d", bytes(8 * MOST_EXPERTS))
        """Mistakes of each candidate, discounted."""
        self.n_candidates = experts.N_MIXERS
        self.leader = 0
        self.discount = 1.0
        self.n_mistakes = self.n_updates = 0
        self.is_binary = False

    def meet(self, label: Any) -> None:
        """Start a class."""
        if isinstance(label, bool) and (self.is_binary or not self.labels):
            self.labels, self.numbers, self.is_binary = [False, True], {False: 0, True: 1}, True
        else:
            self.numbers[label] = len(self.labels)
            self.labels.append(label)
        made = Ensemble(*experts.mixers())
        for group in self.groups:
            experts.join(made, group)
        self.ensembles.append(made)
        self._widen()

    def _score(self, x: Any) -> None:
        """Show an event, and compute the answers of each ensemble."""
        self.maps.show(x)
        self._score_shown()

    def _score_shown(self) -> None:
        for k in range(len(self.ensembles)):
            ensemble = self.ensembles[k]
            ensemble.score(self.maps.examples, self.maps.speaks)

    def _answer(self, number: int, candidate: int) -> float:
        """Return a candidate's log-odds of a class."""
        if self.is_binary:
            ensemble = self.ensembles[0]
            return ensemble.answers[candidate] if number else -ensemble.answers[candidate]
        ensemble = self.ensembles[number]
        return ensemble.answers[candidate]

    def _decision(self, candidate: int) -> int:
        """Return the number of the class that a candidate decides for; −1 if there is none."""
        best, highest = -1, 0.0
        for number in range(len(self.labels)):
            answer = self._answer(number, candidate)
            if best < 0 or answer > highest:
                best, highest = number, answer
        return best

    def _judge(self, number: int) -> None:
        """Count the mistakes of the candidates on an event of a class; the one with the fewest leads."""
        self.n_mistakes += self._decision(self.leader) != number
        for k in range(self.n_candidates):
            self.losses[k] = self.discount * self.losses[k] + (self._decision(k) != number)
        self.leader = 0
        for k in range(1, self.n_candidates):
            if self.losses[k] < self.losses[self.leader]:
                self.leader = k

    def _learn(self, label: Any, w: float) -> None:
        """Learn the event that was scored, of weight w > 0."""
        if label not in self.numbers:
            self.meet(label)
            self._score_shown()
        if self._join():
            self._score_shown()
        self.maps.learn()
        self._widen()
        number = self.numbers[label]
        self._judge(number)
        for k in range(len(self.ensembles)):
            ensemble = self.ensembles[k]
            ensemble.learn(self.maps.examples, self.maps.speaks, number == (1 if self.is_binary else k), w)
        self.n_updates += 1
        self.maps.commit()
        self._widen()

    def _join(self) -> bool:
        """Let the learners of maps join that speak for the first time; return whether any did."""
        joined = False
        for number, group in _GROUP_OF_MAP:
            if self.maps.speaks[number] and group not in self.groups:
                self._join_group(group)
                joined = True
        return joined

    def _join_group(self, group: str) -> None:
        self.groups.append(group)
        for ensemble in self.ensembles:
            experts.join(ensemble, group)
            n_candidates = experts.N_MIXERS + len(ensemble.favourites)
        for k in range(self.n_candidates, n_candidates):
            self.losses[k] = self.losses[0]
        self.n_candidates = n_candidates
        self.discount = experts.discount(self.groups)
        self._widen()

    def _widen(self) -> None:
        """Make room for all slots of the maps that grow."""
        for k in range(len(self.ensembles)):
            ensemble = self.ensembles[k]
            if self.maps.words.n_slots > ensemble.n_words:
                ensemble.n_words = 2 * self.maps.words.n_slots
                ensemble.widen(WORDS, ensemble.n_words)
            if self.maps.grams.n_slots > ensemble.n_grams:
                ensemble.n_grams = 2 * self.maps.grams.n_slots
                ensemble.widen(GRAMS, ensemble.n_grams)
            if self.maps.dense.n_paired > ensemble.n_pairs:
                ensemble.n_pairs = self.maps.dense.n_paired
                ensemble.widen(PAIRED, ensemble.n_pairs)

    def log_odds(self, x: Any) -> list[float]:
        """Compute the leader's log-odds of each class."""
        self._score(x)
        return [self._answer(number, self.leader) for number in range(len(self.labels))]

    def decision_of(self, x: Any) -> int:
        """Return the number of the class of an event; −1 if there is none."""
        self._score(x)
        return self._decision(self.leader)

    def learn(self, x: Any, label: Any, w: float) -> list[float]:
        """Score an event, then learn it; return the leader's log-odds of each class before."""
        self._score(x)
        found = [self._answer(number, self.leader) for number in range(len(self.labels))]
        if w > 0:
            self._learn(label, w)
        return found
