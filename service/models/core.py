"""Drives the models of `perceptron_core`: two-class learners, multiclass learners, and `AutoClassifier`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import Any, Final, Generic, TypeVar

from perceptron_core import AutoClassifier, DamagedError, HashedClassifier, from_bytes, to_bytes
from perceptron_core.auto.explanation import Contribution
from perceptron_core.elementary import logistic
from perceptron_core.formats.model_bytes import freeze
from perceptron_core.formats.model_changes import freeze_changes, track_changes
from perceptron_core.formats.packed import Packed
from perceptron_core.linear.binary import BinaryClassifier
from perceptron_core.linear.declarations import Term, Update
from perceptron_core.linear.linear_rule import LinearRule
from perceptron_core.linear.multiclass import MulticlassClassifier
from service.errors import ConfigurationError
from service.messages.features import X
from service.messages.labels import BINARY, TrueLabel
from service.models.learner import Learner, MixtureStatus

M = TypeVar("M")
"""A class of models."""

_LEARNING: Final = attrgetter("score_one", "predict_learn", "update_one", "decide")
"""The methods with which a learner learns and predicts."""
_MAX_MEMO_BYTES: Final = 2048
"""Largest memo kept with a pending event in bytes: enough for about ten classes."""


class CoreLearner(Learner, Generic[M]):
    """Drives a model of `perceptron_core`, which is saved exactly and without pickle."""

    model: M

    def __init__(self, model: M) -> None:
        self.model = model

    # `attrgetter` runs in C, and the loop reads this property twice per event.
    updates = property(attrgetter("model.n_updates"), doc="Updates made so far.")

    def learn(self, x: X, truth: TrueLabel, memo: bytes = b"", w: float = 1.0) -> Any:  # noqa: ANN401, ARG002  each model's own step
        """Learn one example; return the step."""
        return self.model.update_one(x, truth, w)  # type: ignore[attr-defined] # where `learn` is not another

    def undo(self, x: X, step: Any) -> bool:  # noqa: ANN401  what `learn` gave, or that read from a snapshot
        """Undo an update if there was one; False if the model's updates are not sums."""
        undo_one = getattr(self.model, "undo_one", None)
        if undo_one is None:
            return not step
        undo_one(x, step)
        return True

    def state(self) -> Packed:
        """Copy the model as it is now."""
        return freeze(self.model)  # type: ignore[arg-type] # one of the core

    def changes(self) -> Packed | None:
        """Copy the changes since the last call; None if they are not tracked or too large."""
        changes = freeze_changes(self.model)
        if changes is None:
            track_changes(self.model)
        return changes

    def load(self, data: bytes) -> None:
        """Load the model that `dump` wrote. Raises `DamagedError` if it cannot be trusted."""
        self.model = read_as(self.model, data)


class BinaryLearner(CoreLearner[BinaryClassifier]):
    """Drives a two-class learner of `perceptron_core`."""

    @property
    def rule(self) -> LinearRule | None:  # type: ignore[override] # read-only
        """The compiled rule of the model, which needs no Python object for a feature; None without one."""
        own = self.model.learner if isinstance(self.model, HashedClassifier) else self.model
        return own if isinstance(own, LinearRule) and _LEARNING(type(own)) == _LEARNING(LinearRule) else None

    has_log_odds = property(attrgetter("model.has_log_odds"), doc="Whether scores are the log-odds of True.")

    @property
    def predicts_fast(self) -> bool:  # type: ignore[override] # read-only
        """Whether it has a rule."""
        return self.rule is not None

    @property
    def weighs(self) -> bool:  # type: ignore[override] # read-only
        """Whether provisional examples are weighted."""
        return self.has_log_odds and not hasattr(self.model, "undo_one")

    def predict_learn(self, x: X, truth: TrueLabel, w: float = 1.0) -> tuple[TrueLabel, float, float]:
        """Predict one example, then learn it; return the predicted class, the score and the step."""
        score, step = self.model.predict_learn(x, truth, w)
        return self.model.decide(score), score, step

    def assess(self, x: X) -> tuple[TrueLabel, float]:
        """Return the predicted class and the score."""
        score = self.model.score_one(x)
        return self.model.decide(score), score

    def weights(self) -> tuple[Mapping[Any, float], float] | None:
        """Return (weights, bias) if the model has one vector of weights, else None."""
        weights = getattr(self.model, "weights", None)
        return None if weights is None else (weights, self.model.bias)  # type: ignore[attr-defined]

    def score(self, x: X, label: TrueLabel) -> float:  # noqa: ARG002  one score favours both classes
        """Return the score of `assess`."""
        return self.model.score_one(x)

    def terms(self, x: X, label: TrueLabel) -> list[Term] | None:  # noqa: ARG002  as `score`
        """Return the terms of the score, the bias last; None if the score is not a sum over features."""
        return list(self.model._terms(x)) if hasattr(self.model, "weights") else None  # noqa: SLF001


def can_be_written(model: BinaryClassifier) -> bool:
    """Return whether a model can be saved as bytes: it is not a subclass, and no parameter is a function."""
    try:
        to_bytes(model)
    except TypeError:
        return False
    return True


class MulticlassLearner(CoreLearner[MulticlassClassifier]):
    """Drives a multiclass learner of `perceptron_core`.

    The score of a prediction is the score of the winning class. With two classes it is signed, as in other
    learners: the score of True minus the score of False. The model's `classes` are given.
    """

    takes_vectors = predicts_fast = True

    @property
    def classes(self) -> Sequence[TrueLabel]:  # type: ignore[override] # read-only
        """The classes with weights."""
        return self.model.classes or ()  # type: ignore[return-value] # of messages

    def assess(self, x: X) -> tuple[TrueLabel, float]:
        """Return the predicted class and its score."""
        return self._assessed(self.model.scores_one(x))

    def predict_learn(self, x: X, truth: TrueLabel, w: float = 1.0) -> tuple[TrueLabel, float, Update | None]:
        """Predict one example, then learn it; return the predicted class, its score and the step."""
        scores, step = self.model.predict_learn(x, truth, w)
        return *self._assessed(scores), step

    def _assessed(self, scores: Mapping[Any, float]) -> tuple[TrueLabel, float]:
        predicted: TrueLabel = self.model.decide(scores)
        if isinstance(predicted, bool):
            return predicted, scores[True] - scores[False]
        return predicted, scores[predicted]

    def weights(self) -> tuple[Mapping[Any, float], Mapping[Any, float]]:
        """Return the weights, named `class: feature`, and the bias of each class."""
        named = {
            f"{label}: {name}": weight
            for label, weights in list(self.model.weights.items())
            for name, weight in list(weights.items())  # one step for the interpreter: it may be learning
        }
        return named, dict(self.model.bias)

    def score(self, x: X, label: TrueLabel) -> float:
        """Return the score of a class; with two classes, the score of True minus the score of False."""
        scores = self.model.scores_one(x)
        return scores[True] - scores[False] if isinstance(label, bool) else scores[label]

    def terms(self, x: X, label: TrueLabel) -> list[Term]:
        """Return the terms of the class's score, the bias last; with two classes, of the difference."""
        if not isinstance(label, bool):
            return list(self.model._terms(x, label))  # noqa: SLF001
        plus, minus = (self.model._terms(x, each) for each in (True, False))  # noqa: SLF001
        return [
            (name, value, weight - other)
            for (name, value, weight), (_, _, other) in zip(plus, minus, strict=True)
        ]


class AutoLearner(CoreLearner[AutoClassifier]):
    """Drives an `AutoClassifier` whose classes are given.

    The score is the log-odds of the predicted class; with two classes, the log-odds of True.
    """

    has_log_odds = is_calibrated = True
    predicts_fast = True

    def assess(self, x: X) -> tuple[TrueLabel, float]:
        """Return the predicted class and its score."""
        return self._assessed(self.model.log_odds(x))

    def probabilities(self, x: X) -> dict[TrueLabel, float]:
        """Return the probability of each class."""
        if len(self.model.labels) == BINARY:
            return super().probabilities(x)
        log_odds = self.model.log_odds(x)
        return {label: logistic(self._score(log_odds, label)) for label in self.model.labels}

    def predict_learn(self, x: X, truth: TrueLabel, w: float = 1.0) -> tuple[TrueLabel, float, bool]:
        """Predict one example, then learn it; return the predicted class, its score and True."""
        return *self._assessed(self.model.learn(x, truth, w)), True

    def _assessed(self, log_odds: Sequence[float]) -> tuple[TrueLabel, float]:
        best = self.model.decide(log_odds)
        label: TrueLabel = self.model.labels[best]
        return label, self._score(log_odds, label)

    def _score(self, log_odds: Sequence[float], label: TrueLabel) -> float:
        if isinstance(label, bool):
            return log_odds[1]
        return self.model.relative_log_odds(log_odds, self.model.numbers[label])

    def memo(self) -> bytes:
        """Return all learners' scores of the last assessed event; if they are too long, only its time."""
        return self.model.prediction_context(_MAX_MEMO_BYTES)

    def learn(self, x: X, truth: TrueLabel, memo: bytes = b"", w: float = 1.0) -> bool:
        """Learn one example; the memo's scores evaluate the learners. Return True: it is always an update."""
        self.model.learn(x, truth, w, memo)
        return True

    def learn_after_early(self, x: X, truth: TrueLabel, memo: bytes = b"", w: float = 1.0) -> bool:
        """Learn the true class; the mixers and the choice of the leader count the example once."""
        self.model.learn(x, truth, w, memo, True)  # noqa: FBT003 - compiled
        return True

    weighs = True

    def score(self, x: X, label: TrueLabel) -> float:
        """Return the score of a class; with two classes, the signed score."""
        return self._score(self.model.log_odds(x), label)

    def explain(self, x: X, label: TrueLabel) -> tuple[list[Contribution], float]:
        """Return what each feature adds to the log-odds of a class; with two classes, to the signed score."""
        positive = isinstance(label, bool) or label
        return self.model.explain(x, self.model.numbers[positive])

    @property
    def lacks_texts(self) -> bool:  # type: ignore[override] # read-only
        """Whether the model uses only texts, and has not learned any yet."""
        groups = [*self.model.plan.groups]
        return groups == ["characters"] and not self.model.maps.characters.get_state()["grams"]

    @property
    def mixture(self) -> MixtureStatus:  # type: ignore[override] # read-only
        """Which learners decide; none before the first event."""
        model = self.model
        experts = sorted(model.experts, key=lambda each: -abs(each.weight))
        leader = model.candidates[model.leader] if model.candidates else "nothing"
        return MixtureStatus(leader, experts, model.leader < len(model.plan.mixers))


def with_classes(model: Any, names: Sequence[str]) -> Any:  # noqa: ANN401 - any that takes `classes`
    """Return a model with the classes that `names` configure: False and True if they are two at most.

    Raises
    ------
    ConfigurationError
        The model has other classes.

    """
    labels: tuple[TrueLabel, ...] = tuple(names) if len(names) > BINARY else (False, True)
    if model.classes is None:
        return model.clone({"classes": labels})
    if set(model.classes) != set(labels):
        raise ConfigurationError(
            f"classes: the model has {list(model.classes)}, the settings have {list(labels)}",
            hint="set the classes with --classes a,b,c",
        )
    return model


def read_as(model: Any, data: bytes) -> Any:  # noqa: ANN401 - any of perceptron_core's models
    """Read a model that has the same class and classes as `model`; the kind of weight table may differ.

    Raises
    ------
    DamagedError
        The data is not a valid model, or a model of another kind.

    """
    restored = from_bytes(data)
    kind, wanted_kind = kind_of(restored), kind_of(model)
    if kind is not wanted_kind:
        raise DamagedError(f"expected a {wanted_kind.__name__}, got a {kind.__name__}")
    made_for, wanted = (getattr(each, "classes", None) for each in (restored, model))
    if made_for != wanted:
        raise DamagedError(f"expected a model of the classes {wanted}, got {made_for}")
    return restored


def kind_of(model: Any) -> type[Any]:  # noqa: ANN401 - as above
    """Return the class of a model, whatever kind of weight table it has."""
    return type(model.classifier if isinstance(model, HashedClassifier) else model)
