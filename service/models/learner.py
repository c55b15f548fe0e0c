"""The interface of models for the processor, and rejections of examples by a model."""

from __future__ import annotations

import inspect
import traceback
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from perceptron_core import LearnerError, Mixture
from perceptron_core.auto.feature_maps import AFTER_EARLY
from perceptron_core.elementary import logistic
from perceptron_core.formats.packed import Packed
from perceptron_core.linear.declarations import Term
from perceptron_core.mixing.mixture import ExpertStatus
from service.messages.features import X
from service.messages.labels import TrueLabel
from service.messages.rejection import Reason, Rejection

if TYPE_CHECKING:
    from perceptron_core.auto.explanation import Contribution
    from perceptron_core.linear.linear_rule import LinearRule


class ModelError(Exception):
    """A River model has raised, or has returned no valid prediction."""

    def __init__(self, error: Exception) -> None:
        where = traceback.extract_tb(error.__traceback__)[-1]
        location = f"{where.filename.rpartition('/')[2]}:{where.lineno}, in {where.name}"
        super().__init__(f"{type(error).__name__}: {error} ({location})")


class MixtureStatus(NamedTuple):
    """Which experts of a mixture decide now."""

    leader: str
    """The mixture or expert that makes the prediction."""
    experts: Sequence[ExpertStatus]
    """The experts, the largest weight first."""
    is_mixed: bool = False
    """Whether the prediction is a mixture's, to which every expert contributes."""


class Learner(ABC):
    """Drives a model.

    Attributes
    ----------
    model
        The driven model.
    updates : int
        Updates made so far.
    has_log_odds : bool
        Whether the score of `assess` is a log-odds; with two classes, of True.
    is_calibrated : bool
        Whether its probabilities are calibrated: of events with probability p, a share of p is of the class.

    """

    model: Any
    updates: int
    has_log_odds: bool = False
    is_calibrated: bool = False
    has_files = True
    """Whether the model can be written to a model file."""
    classes: Sequence[TrueLabel] = ()
    """The classes of a model that has weights for each class."""
    rule: LinearRule | None = None
    """The compiled rule of the model, which needs no Python object for a feature; None if there is none."""
    takes_vectors = False
    """Whether the model reads arrays of numbers at least as quickly as a dictionary."""
    predicts_fast = False
    """Whether a prediction takes no longer than passing the request to another thread."""
    mixture: MixtureStatus | None = None
    """For a mixture: which experts decide."""
    lacks_texts = False
    """Whether the model uses only texts, and has not learned any yet."""

    weighs = False
    """Whether provisional examples are weighted: the model has probabilities and cannot undo."""

    @property
    def takes_weights(self) -> bool:
        """Whether an example may have another weight than 1."""
        return takes_weights(self.model)

    @abstractmethod
    def assess(self, x: X) -> tuple[TrueLabel, float]:
        """Return the predicted class and the score; with two classes, the score is signed."""

    def probabilities(self, x: X) -> dict[TrueLabel, float]:
        """Return the probability of each class, if the score of `assess` is a log-odds."""
        log_odds = self.score(x, label=True)
        return {False: logistic(-log_odds), True: logistic(log_odds)}

    @abstractmethod
    def predict_learn(self, x: X, truth: TrueLabel, w: float = 1.0) -> tuple[TrueLabel, float, Any]:
        """Predict as `assess`, then learn as `learn`: return the class, the score and the step."""

    def memo(self) -> bytes:
        """Return what `learn` needs about the last assessed event if its label comes later."""
        return b""

    @abstractmethod
    def learn(self, x: X, truth: TrueLabel, memo: Any = b"", w: float = 1.0) -> object:  # noqa: ANN401  each learner knows its own
        """Learn one example; return the step for `undo` in plain values, a false value if there is none.

        Weight w = 0 leaves the model unchanged.

        `memo` is what the method `memo` returned when the example was predicted. It is empty if the label
        comes with the example, or if another model made the prediction.
        """

    def learn_provisionally(self, x: X, truth: TrueLabel, memo: Any = b"", w: float = 1.0) -> object:  # noqa: ANN401 - as of `learn`
        """Learn the class of an example whose label has not come; return as `learn` does.

        A model that has probabilities but cannot undo learns the class with weight w(1 − p²), where p is the
        probability of the other classes. If the label is another class, it is learned with weight w(1 + p)
        (`learn_additional`). On average, the gradients of the logistic loss are 1 − p² times the true ones.

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
        """Learn the true class of an example that was provisionally learned as the `other` class."""
        if not self.weighs:
            return self.learn(x, truth, b"", w)
        return self.learn(x, truth, b"", w * (1.0 + self.probability_of_others(x, other)))

    def learn_after_early(self, x: X, truth: TrueLabel, memo: Any = b"", w: float = 1.0) -> object:  # noqa: ANN401 - as of `learn`
        """Learn the true class of an example that was learned early as another class, twice if possible."""
        return self.learn(x, truth, memo, AFTER_EARLY * w if self.has_log_odds and self.takes_weights else w)

    def probability_of_others(self, x: X, label: TrueLabel) -> float:
        """Return the probability of all classes but one, if scores are log-odds."""
        score = self.score(x, label)
        return logistic(score if label is False else -score)

    def undo(self, x: X, step: Any) -> bool:  # noqa: ANN401, ARG002  each learner knows its own
        """Undo an update; False if this model cannot."""
        return False

    def weights(self) -> tuple[Mapping[Any, float], float | Mapping[Any, float]] | None:
        """Return (weights, bias) if the model has them; a multiclass model has a bias for each class."""
        return None

    @abstractmethod
    def score(self, x: X, label: TrueLabel) -> float:
        """Return the score with which `assess` predicts `label`; with two classes, the signed score."""

    def terms(self, x: X, label: TrueLabel) -> Sequence[Term] | None:  # noqa: ARG002  most models have no such sum
        """Return the terms of that score, the bias last; None if the score is not a sum over features."""
        return None

    def explain(self, x: X, label: TrueLabel) -> tuple[list[Contribution], float]:
        """Return what each feature adds to the log-odds of a class in a `mixture`, and the intercept."""
        raise NotImplementedError

    @abstractmethod
    def state(self) -> Packed:
        """Copy the current model, to be saved on any thread."""

    def dump(self) -> bytes:
        """Return the model as bytes."""
        return b"".join(self.state().iter_chunks())

    def changes(self) -> Packed | None:
        """Copy the changes since the last call; None if unknown, as at the first call."""
        return None

    @abstractmethod
    def load(self, data: bytes) -> None:
        """Load the model that `dump` wrote. Raises `DamagedError` if it cannot be trusted."""


def last_step(model: Any) -> Any:  # noqa: ANN401 - any classifier
    """Return the last step of a pipeline, or the model itself if it is not a pipeline."""
    while steps := getattr(model, "steps", None):
        model = list(steps.values())[-1]
    return model


def takes_weights(model: Any) -> bool:  # noqa: ANN401 - any classifier
    """Return whether a model learns weighted examples: it declares so, or `learn_one` has the parameter w.

    A mixture does if each of its experts does; a pipeline does if its last step does.
    """
    model = last_step(model)
    if isinstance(model, Mixture):
        return all(map(takes_weights, model.experts))
    declared = getattr(model, "WEIGHT", None)
    return "w" in inspect.signature(model.learn_one).parameters if declared is None else bool(declared)


def rejection_of(error: Rejection | LearnerError | ModelError) -> Rejection:
    """Return the rejection for an error of a message, of a `perceptron_core` learner or of a River model."""
    if isinstance(error, Rejection):
        return error
    reason = Reason.MODEL_ERROR if isinstance(error, ModelError) else Reason.OUT_OF_RANGE
    return Rejection(reason, str(error))
