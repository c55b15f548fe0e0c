"""What the processor asks of a model, and what the drivers of the core's models share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from operator import attrgetter
from types import MappingProxyType
from typing import Any, Generic, TypeVar

from perceptron_core.elementary import logistic
from perceptron_core.formats.model_bytes import freeze
from perceptron_core.formats.model_changes import freeze_changes, track_changes
from perceptron_core.formats.packed import Packed
from perceptron_core.linear.declarations import Term
from service.errors import ConfigurationError
from service.messages.features import X
from service.messages.labels import BINARY, Truth
from service.models.example_weights import takes_weights
from service.models.kinds import read_as

M = TypeVar("M")
"""A class of models."""


class Learner(ABC):
    """Drives a model.

    Attributes
    ----------
    updates : int
        Updates made so far.
    has_log_odds : bool
        Whether the score of `assess` is a log-odds: of two classes that of True.

    """

    updates: int
    has_log_odds: bool = False
    class_weights: Mapping[Truth, float] = MappingProxyType({})
    """How much the labels of each class count, by which whoever calls `learn` multiplies w; else 1."""

    @property
    def takes_weights(self) -> bool:
        """Whether an example may have another weight than 1."""
        return False

    @abstractmethod
    def assess(self, x: X) -> tuple[Truth, float]:
        """Return the predicted class and the score; of two classes the score is signed."""

    def probabilities(self, x: X) -> dict[Truth, float]:
        """Return the probability of each class, where the score of `assess` is a log-odds."""
        log_odds = self.score(x, label=True)
        return {False: logistic(-log_odds), True: logistic(log_odds)}

    @abstractmethod
    def predict_learn(self, x: X, truth: Truth, w: float = 1.0) -> tuple[Truth, float, Any]:
        """Predict as `assess`, then learn as `learn`: return the class, the score and the step."""

    def memo(self) -> bytes:
        """Return what `learn` needs of the event that was assessed last, if its label comes later."""
        return b""

    @abstractmethod
    def learn(self, x: X, truth: Truth, memo: Any = b"", w: float = 1.0) -> object:  # noqa: ANN401  each learner knows its own
        """Learn one example; return the step for `undo` in plain values, a false value if there is none.

        One of weight w = 0 leaves the model as it is.

        `memo` is what the method of this name returned when the example was predicted; empty where its label
        comes with it, or its prediction was another model's.
        """

    def learn_provisionally(self, x: X, truth: Truth, memo: Any = b"", w: float = 1.0) -> object:  # noqa: ANN401 - as of `learn`
        """Learn the class of an example whose label has not come; return as `learn` does.

        A model with probabilities that cannot undo learns it with 1 − p² of the weight w, where p is
        the probability of the other classes; a label that says one of these is learned with 1 + p of it
        (`learn_beside`). So the gradients of the logistic loss are on average 1 − p² times the true ones.

        References
        ----------
        Ktena, S. I. et al. (2019). Addressing delayed feedback for continuous training with neural networks
        in CTR prediction. RecSys 2019, 187-195. The fake negative weighted loss.

        """
        if not self.weighs:
            return self.learn(x, truth, memo, w)
        p = self._probability_of_others(x, truth)
        return self.learn(x, truth, memo, w * (1.0 - p * p))

    def learn_beside(self, x: X, truth: Truth, other: Truth, w: float = 1.0) -> object:
        """Learn an example that was learned provisionally as one of the `other` class as one more."""
        if not self.weighs:
            return self.learn(x, truth, b"", w)
        return self.learn(x, truth, b"", w * (1.0 + self._probability_of_others(x, other)))

    @property
    def weighs(self) -> bool:
        """Whether provisional examples are weighted: the model has probabilities and cannot undo."""
        return False

    def _probability_of_others(self, x: X, label: Truth) -> float:
        score = self.score(x, label)
        return logistic(score if label is False else -score)

    def undo(self, x: X, step: Any) -> bool:  # noqa: ANN401, ARG002  each learner knows its own
        """Take an update back; False if this model cannot."""
        return False

    def weights(self) -> tuple[Mapping[Any, float], float | Mapping[Any, float]] | None:
        """Return (weights, bias) where the model has them; of a multiclass model, a bias by class."""
        return None

    @abstractmethod
    def score(self, x: X, label: Truth) -> float:
        """Return the score with which `assess` predicts `label`; signed where there are two classes."""

    def terms(self, x: X, label: Truth) -> Sequence[Term] | None:  # noqa: ARG002  most models have no such sum
        """Return what that score is the sum of, the bias last; None where it is no sum over features."""
        return None

    @abstractmethod
    def state(self) -> Packed:
        """Copy the model as it is now, to be written down on any thread."""

    def dump(self) -> bytes:
        """Write the model down."""
        return b"".join(self.state().written())

    def changes(self) -> Packed | None:
        """Copy what changed since the last call; None where that is not known, as the first time."""
        return None

    @abstractmethod
    def load(self, data: bytes) -> None:
        """Load the model that `dump` wrote. Raises `DamagedError` if it cannot be trusted."""


class CoreLearner(Learner, Generic[M]):
    """Drives a model of `perceptron_core`, which is written down exactly and without pickle."""

    def __init__(self, model: M) -> None:
        self.model = model

    @property
    def takes_weights(self) -> bool:
        """Whether an example may have another weight than 1."""
        return takes_weights(self.model)

    # In C: it is asked for twice an event.
    updates = property(attrgetter("model.n_updates"), doc="Updates made so far.")

    def state(self) -> Packed:
        """Copy the model as it is now."""
        return freeze(self.model)  # type: ignore[arg-type] # one of the core

    def changes(self) -> Packed | None:
        """Copy what changed since; None where the model cannot tell it, or it is too much."""
        changes = freeze_changes(self.model)
        if changes is None:
            track_changes(self.model)
        return changes

    def load(self, data: bytes) -> None:
        """Load the model that `dump` wrote. Raises `DamagedError` if it cannot be trusted."""
        self.model = read_as(self.model, data)


def with_classes(model: Any, names: Sequence[str]) -> Any:  # noqa: ANN401 - any that takes `classes`
    """Return a model with the classes that `names` configure: False and True if they are two at most.

    Raises
    ------
    ConfigurationError
        The model was made for other classes.

    """
    labels: tuple[Truth, ...] = tuple(names) if len(names) > BINARY else (False, True)
    if model.classes is None:
        return model.clone({"classes": labels})
    if set(model.classes) != set(labels):
        raise ConfigurationError(
            f"classes: the model was made for {list(model.classes)}, the settings name {list(labels)}",
            hint="leave `classes` to the setting: --classes a,b,c",
        )
    return model
