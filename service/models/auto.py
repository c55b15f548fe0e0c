"""Drives `AutoClassifier`. In: events as they are and a class. Out: the class and its log-odds."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import Final, NamedTuple

from perceptron_core import AutoClassifier, to_bytes
from perceptron_core.auto.experts import MIXTURES
from perceptron_core.auto.explanation import Addend
from perceptron_core.mixing.status import ExpertStatus
from service.errors import ConfigurationError
from service.messages.features import X
from service.messages.labels import BINARY, Truth
from service.models.kinds import read_as

_MOST_SAID: Final = 2048
"""Bytes kept with an event that waits for its label: enough for some ten classes."""


class MixtureStatus(NamedTuple):
    """Which learners of a mixture decide now."""

    leader: str
    """Whose answer is given: a mixture's, or one learner's."""
    experts: Sequence[ExpertStatus]
    """The learners, the one that decides most first."""


class AutoLearner:
    """Drives an `AutoClassifier` whose classes are given.

    The score is the log-odds of the class predicted; of two classes it is signed, that of True.
    """

    has_log_odds = True

    def __init__(self, model: AutoClassifier) -> None:
        self.model = model

    updates = property(attrgetter("model.n_updates"), doc="Updates made so far: one for every example.")

    def assess(self, x: X) -> tuple[Truth, float]:
        """Return the predicted class and its score."""
        return self._assessed(self.model.log_odds(x))

    def predict_learn(self, x: X, truth: Truth) -> tuple[Truth, float, bool]:
        """Predict one example, then learn it; return the predicted class, its score and True."""
        return *self._assessed(self.model.learn(x, truth, 1.0)), True

    def _assessed(self, log_odds: Sequence[float]) -> tuple[Truth, float]:
        best = self.model.decide(log_odds)
        label: Truth = self.model.labels[best]
        return label, self._score(log_odds, label)

    def _score(self, log_odds: Sequence[float], label: Truth) -> float:
        if isinstance(label, bool):
            return log_odds[1]
        return self.model.relative_log_odds(log_odds, self.model.numbers[label])

    def said(self) -> bytes:
        """Return what the learners said of the event assessed last; nothing where that is long."""
        said = self.model.said()
        return said if len(said) <= _MOST_SAID else b""

    def learn(self, x: X, truth: Truth, said: bytes = b"") -> bool:
        """Learn one example, its learners judged by what they said then; return True: all are updates."""
        self.model.learn(x, truth, 1.0, said)
        return True

    def undo(self, x: X, step: object) -> bool:  # noqa: ARG002  the protocol's signature
        """Refuse: what its learners learned cannot be taken back."""
        return False

    def weights(self) -> None:
        """Return nothing: there is no one weight vector."""
        return

    def score(self, x: X, label: Truth) -> float:
        """Return the score of a class; of two classes the signed one."""
        return self._score(self.model.log_odds(x), label)

    def terms(self, x: X, label: Truth) -> None:  # noqa: ARG002  the protocol's signature
        """Return nothing: no feature has one weight; `explain` tells what each one added."""
        return

    def explain(self, x: X, label: Truth) -> tuple[list[Addend], float]:
        """Return what each feature adds to the log-odds of a class; of two classes to the signed score."""
        positive = isinstance(label, bool) or label
        return self.model.explain(x, self.model.numbers[positive])

    @property
    def leader(self) -> str:
        """Whose answer is given: a mixture's, or one learner's."""
        return self.model.candidates[self.model.leader]

    @property
    def is_mixed(self) -> bool:
        """Whether a mixture's answer is given: that is, whether every learner has a say in it."""
        return self.leader in MIXTURES

    @property
    def experts(self) -> list[ExpertStatus]:
        """The learners, the one that decides most first."""
        return sorted(self.model.experts, key=lambda each: -abs(each.weight))

    def dump(self) -> bytes:
        """Write the model down, exactly and without pickle."""
        return to_bytes(self.model)

    def load(self, data: bytes) -> None:
        """Load the model that `dump` wrote."""
        self.model = read_as(self.model, data)


def mixture_of(learner: object) -> MixtureStatus | None:
    """Return which learners of a mixture decide; None of other models, and before the first event."""
    if not isinstance(learner, AutoLearner):
        return None
    experts = learner.experts
    return MixtureStatus(learner.leader, experts) if experts else None


def with_classes(model: AutoClassifier, names: Sequence[str]) -> AutoClassifier:
    """Return the model with the classes that `names` configure: False and True if they are two at most.

    Raises
    ------
    ConfigurationError
        The model was made for other classes.

    """
    labels: tuple[Truth, ...] = tuple(names) if len(names) > BINARY else (False, True)
    if model.classes not in {None, labels}:
        raise ConfigurationError(
            f"classes: the model was made for {list(model.classes or ())}, the settings name {list(labels)}",
            hint="leave `classes` to the setting: --classes a,b,c",
        )
    made: AutoClassifier = model.clone({"classes": labels})
    return made
