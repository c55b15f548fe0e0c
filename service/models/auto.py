"""Drives `AutoClassifier`, which takes events as they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from perceptron_core import AutoClassifier
from perceptron_core.auto.explanation import Addend
from perceptron_core.elementary import logistic
from perceptron_core.mixing.mixture import ExpertStatus
from service.messages.features import X
from service.messages.labels import BINARY, Truth
from service.models.learner import CoreLearner

_LONGEST_MEMO: Final = 2048
"""Bytes kept with an event that waits for its label: enough for some ten classes."""


class MixtureStatus(NamedTuple):
    """Which learners of a mixture decide now."""

    leader: str
    """Whose answer is given: a mixture's, or one learner's."""
    experts: Sequence[ExpertStatus]
    """The learners, the one that decides most first."""


class AutoLearner(CoreLearner[AutoClassifier]):
    """Drives an `AutoClassifier` whose classes are given.

    The score is the log-odds of the class predicted; of two classes it is signed, that of True.
    """

    has_log_odds = True

    def assess(self, x: X) -> tuple[Truth, float]:
        """Return the predicted class and its score."""
        return self._assessed(self.model.log_odds(x))

    def probabilities(self, x: X) -> dict[Truth, float]:
        """Return the probability of each class."""
        if len(self.model.labels) == BINARY:
            return super().probabilities(x)
        log_odds = self.model.log_odds(x)
        return {label: logistic(self._score(log_odds, label)) for label in self.model.labels}

    def predict_learn(self, x: X, truth: Truth, w: float = 1.0) -> tuple[Truth, float, bool]:
        """Predict one example, then learn it; return the predicted class, its score and True."""
        return *self._assessed(self.model.learn(x, truth, w)), True

    def _assessed(self, log_odds: Sequence[float]) -> tuple[Truth, float]:
        best = self.model.decide(log_odds)
        label: Truth = self.model.labels[best]
        return label, self._score(log_odds, label)

    def _score(self, log_odds: Sequence[float], label: Truth) -> float:
        if isinstance(label, bool):
            return log_odds[1]
        return self.model.relative_log_odds(log_odds, self.model.numbers[label])

    def memo(self) -> bytes:
        """Return the scores that the learners gave the event assessed last; where that is long, only when."""
        return self.model.said(_LONGEST_MEMO)

    def learn(self, x: X, truth: Truth, memo: bytes = b"", w: float = 1.0) -> bool:
        """Learn one example, its learners judged by their scores then; return True: all are updates."""
        self.model.learn(x, truth, w, memo)
        return True

    weighs = True

    def score(self, x: X, label: Truth) -> float:
        """Return the score of a class; of two classes the signed one."""
        return self._score(self.model.log_odds(x), label)

    def explain(self, x: X, label: Truth) -> tuple[list[Addend], float]:
        """Return what each feature adds to the log-odds of a class; of two classes to the signed score."""
        positive = isinstance(label, bool) or label
        return self.model.explain(x, self.model.numbers[positive])

    @property
    def lacks_texts(self) -> bool:
        """Whether nothing but texts says anything to the model, and it has learned none."""
        groups = [*self.model.plan.groups]
        return groups == ["characters"] and not self.model.maps.characters.get_state()["grams"]

    @property
    def leader(self) -> str:
        """Whose answer is given: a mixture's, or one learner's."""
        return self.model.candidates[self.model.leader] if self.model.candidates else "nothing"

    @property
    def is_mixed(self) -> bool:
        """Whether a mixture's answer is given: that is, whether every learner has a say in it."""
        return self.model.leader < len(self.model.plan.mixers)

    @property
    def experts(self) -> list[ExpertStatus]:
        """The learners, the one that decides most first."""
        return sorted(self.model.experts, key=lambda each: -abs(each.weight))


def mixture_of(learner: object) -> MixtureStatus | None:
    """Return which learners of a mixture decide; None of other models, and before the first event."""
    if not isinstance(learner, AutoLearner):
        return None
    experts = learner.experts
    return MixtureStatus(learner.leader, experts) if experts else None
