"""What the processor asks of a model; weights of examples, and rejections of those that a model refuses."""

from __future__ import annotations

import inspect
import traceback
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from perceptron_core import LearnerError, Mixture
from perceptron_core.elementary import logistic
from perceptron_core.formats.packed import Packed
from perceptron_core.linear.declarations import Term
from perceptron_core.mixing.mixture import ExpertStatus
from service.errors import ConfigurationError
from service.messages.features import X
from service.messages.labels import TrueLabel
from service.messages.rejection import Reason, Rejection
from service.settings.parts import weights_of

if TYPE_CHECKING:
    from perceptron_core.auto.explanation import Addend
    from perceptron_core.linear.linear_rule import LinearRule


class ModelError(Exception):
    """A River model has raised, or has returned no valid prediction."""

    def __init__(self, error: Exception) -> None:
        where = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{where.filename.rpartition('/')[2]}:{where.lineno}, in {where.name}"
        super().__init__(f"{type(error).__name__}: {error} ({place})")


class MixtureStatus(NamedTuple):
    """Which learners of a mixture decide now."""

    leader: str
    """Whose answer is given: a mixture's, or one learner's."""
    experts: Sequence[ExpertStatus]
    """The learners, the one that decides most first."""
    is_mixed: bool = False
    """Whether a mixture's answer is given: that is, whether every learner has a say in it."""


class Learner(ABC):
    """Drives a model.

    Attributes
    ----------
    model
        What is driven.
    updates : int
        Updates made so far.
    has_log_odds : bool
        Whether the score of `assess` is a log-odds: of two classes that of True.
    is_calibrated : bool
        Whether its probabilities are true to the labels: where it is p, a share of p is of the class.

    """

    model: Any
    updates: int
    has_log_odds: bool = False
    is_calibrated: bool = False
    class_weights: Mapping[TrueLabel, float] = MappingProxyType({})
    """How much the labels of each class count, by which whoever calls `learn` multiplies w; else 1."""
    has_files = True
    """Whether there are model files for it."""
    classes: Sequence[TrueLabel] = ()
    """The classes of a model that keeps weights for each."""
    rule: LinearRule | None = None
    """What learns for the model, without a Python object for a feature; None if it has no such rule."""
    takes_vectors = False
    """Whether it reads arrays of numbers as quickly as a dictionary, or more quickly."""
    answers_at_once = False
    """Whether an answer takes no longer than handing the question to another thread."""
    mixture: MixtureStatus | None = None
    """Of a mixture: which learners decide."""
    lacks_texts = False
    """Whether nothing but texts says anything to the model, and it has learned none."""

    weighs = False
    """Whether provisional examples are weighted: the model has probabilities and cannot undo."""

    @property
    def takes_weights(self) -> bool:
        """Whether an example may have another weight than 1."""
        return takes_weights(self.model)

    @abstractmethod
    def assess(self, x: X) -> tuple[TrueLabel, float]:
        """Return the predicted class and the score; of two classes the score is signed."""

    def probabilities(self, x: X) -> dict[TrueLabel, float]:
        """Return the probability of each class, where the score of `assess` is a log-odds."""
        log_odds = self.score(x, label=True)
        return {False: logistic(-log_odds), True: logistic(log_odds)}

    @abstractmethod
    def predict_learn(self, x: X, truth: TrueLabel, w: float = 1.0) -> tuple[TrueLabel, float, Any]:
        """Predict as `assess`, then learn as `learn`: return the class, the score and the step."""

    def memo(self) -> bytes:
        """Return what `learn` needs of the event that was assessed last, if its label comes later."""
        return b""

    @abstractmethod
    def learn(self, x: X, truth: TrueLabel, memo: Any = b"", w: float = 1.0) -> object:  # noqa: ANN401  each learner knows its own
        """Learn one example; return the step for `undo` in plain values, a false value if there is none.

        One of weight w = 0 leaves the model as it is.

        `memo` is what the method of this name returned when the example was predicted; empty where its label
        comes with it, or its prediction was another model's.
        """

    def learn_provisionally(self, x: X, truth: TrueLabel, memo: Any = b"", w: float = 1.0) -> object:  # noqa: ANN401 - as of `learn`
        """Learn the class of an example whose label has not come; return as `learn` does.

        A model with probabilities that cannot undo learns it with 1 − p² of the weight w, where p is
        the probability of the other classes; a label that says one of these is learned with 1 + p of it
        (`learn_additional`). So the gradients of the logistic loss are on average 1 − p² times the true ones.

        References
        ----------
        Ktena, S. I. et al. (2019). Addressing delayed feedback for continuous training with neural networks
        in CTR prediction. RecSys 2019, 187-195. The fake negative weighted loss.

        """
        if not self.weighs:
            return self.learn(x, truth, memo, w)
        p = self.probability_of_others(x, truth)
        return self.learn(x, truth, memo, w * (1.0 - p * p))

    def learn_additional(self, x: X, truth: TrueLabel, other: TrueLabel, w: float = 1.0) -> object:
        """Learn an example that was learned provisionally as one of the `other` class as one more."""
        if not self.weighs:
            return self.learn(x, truth, b"", w)
        return self.learn(x, truth, b"", w * (1.0 + self.probability_of_others(x, other)))

    def probability_of_others(self, x: X, label: TrueLabel) -> float:
        """Return the probability of all classes but one, where the scores are log-odds."""
        score = self.score(x, label)
        return logistic(score if label is False else -score)

    def undo(self, x: X, step: Any) -> bool:  # noqa: ANN401, ARG002  each learner knows its own
        """Take an update back; False if this model cannot."""
        return False

    def weights(self) -> tuple[Mapping[Any, float], float | Mapping[Any, float]] | None:
        """Return (weights, bias) where the model has them; of a multiclass model, a bias by class."""
        return None

    @abstractmethod
    def score(self, x: X, label: TrueLabel) -> float:
        """Return the score with which `assess` predicts `label`; signed where there are two classes."""

    def terms(self, x: X, label: TrueLabel) -> Sequence[Term] | None:  # noqa: ARG002  most models have no such sum
        """Return what that score is the sum of, the bias last; None where it is not a sum over features."""
        return None

    def explain(self, x: X, label: TrueLabel) -> tuple[list[Addend], float]:
        """Return what each feature adds to the log-odds that a `mixture` gives a class, and the intercept."""
        raise NotImplementedError

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


def takes_weights(model: Any) -> bool:  # noqa: ANN401 - any classifier
    """Return whether a model learns examples of any weight: as it declares, or by the w of its `learn_one`.

    A mixture does if each of its experts does. A pipeline does what its last step does.
    """
    while steps := getattr(model, "steps", None):
        model = list(steps.values())[-1]
    if isinstance(model, Mixture):
        return all(map(takes_weights, model.experts))
    declared = getattr(model, "WEIGHT", None)
    return "w" in inspect.signature(model.learn_one).parameters if declared is None else bool(declared)


def check_weight(weight: float | None, *, takes_weights: bool) -> None:
    """Raise `Rejection` if a message has another weight than 1, and its model takes none."""
    if weight is not None and weight != 1.0 and not takes_weights:
        raise Rejection(Reason.MODEL_ERROR, "weight: the model does not support example weights")


def weigh_classes(learner: Learner, settings: Any) -> None:  # noqa: ANN401 - `Settings`, which have these
    """Let a learner know the weights of classes. Raises `ConfigurationError` if it takes none."""
    if settings.class_weights and not learner.takes_weights:
        raise ConfigurationError(
            f"class_weights: the model {settings.model} does not support example weights",
            hint="choose a built-in model, or a model whose learn_one has a parameter w",
        )
    learner.class_weights = weights_of(settings.class_weights, settings.classes)


def rejection_of(error: Rejection | LearnerError | ModelError) -> Rejection:
    """Return the rejection for an error: of the message, a `perceptron_core` learner or a River model."""
    if isinstance(error, Rejection):
        return error
    reason = Reason.MODEL_ERROR if isinstance(error, ModelError) else Reason.OUT_OF_RANGE
    return Rejection(reason, str(error))
