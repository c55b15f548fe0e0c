"""What an export says of a model: a linear function of features by name or index, and how these are made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from perceptron_core import BayesianLogistic, HashedClassifier, NormalizedAdaGrad
from perceptron_core.base.linear_rule import LinearRule
from perceptron_core.base.multiclass import MulticlassClassifier
from perceptron_core.multiclass.normalized_adagrad import MulticlassNormalizedAdaGrad
from service.errors import ConfigurationError
from service.messages.labels import LabelValue, Vocabulary
from service.models.registry import learner_of
from service.settings.load import Settings

TEXT: Final = "text="
"""Names of features that a text makes begin with it."""


@dataclass(frozen=True)
class LinearModel:
    """A linear model of two classes, which has one score, or of several, each with its own.

    A score is its bias and the sum of weight times value over the features, in the order of the event. With
    scales, a value v counts as v / max(|v|, scale).
    """

    learner: str
    """The class of the model."""
    labels: Sequence[LabelValue]
    """Of two classes the negative one first; of several, the first with the highest score decides."""
    biases: Sequence[float]
    """One for each score."""
    weights: Mapping[Any, Sequence[float]]
    """By feature: a weight for each score."""
    scales: Mapping[Any, float]
    """By feature; empty where values count as they are."""
    threshold: float
    """Of the only score: above it the class is the positive one."""
    positive_at_threshold: bool
    has_log_odds: bool
    """Whether the only score is the log-odds of the positive class."""
    settings: Settings
    """Those that say how features are made of an event."""

    @property
    def label_names(self) -> list[str]:
        """The labels as text."""
        return [str(label).lower() if isinstance(label, bool) else str(label) for label in self.labels]

    @property
    def has_text(self) -> bool:
        """Whether any feature is one of a text; where names are hashed, any may be."""
        return bool(self.settings.hash_bits) or any(name.startswith(TEXT) for name in self.weights)

    def refuse(self, target: str, reason: str) -> ConfigurationError:
        """Return the error that says what a format cannot say, and names formats that can."""
        return ConfigurationError(
            f"--format {target}: {reason}", hint="--format json, c and js say all of a linear model"
        )


def linear_model(model: Any, settings: Settings) -> LinearModel:  # noqa: ANN401 - any of perceptron_core's
    """Return what a model says that was made with these settings.

    Raises
    ------
    ConfigurationError
        The model is no linear function of features that have names of their own.

    """
    rule = model.learner if isinstance(model, HashedClassifier) else model
    _check(rule, settings)
    weights, scales = rule.weights, {}
    if isinstance(rule, NormalizedAdaGrad):
        weights, scales = rule.scaled_weights, rule.scales
    elif isinstance(rule, MulticlassNormalizedAdaGrad):
        weights, scales = rule._scaled_weights, rule.scales  # noqa: SLF001 - what scores
    if isinstance(rule, LinearRule):
        labels, biases, columns = (False, True), [rule.bias], [weights]
    else:
        labels = tuple(rule.labels)
        biases, columns = [rule.bias[label] for label in labels], [weights[label] for label in labels]
    names = list(dict.fromkeys(name for column in columns for name in column))
    _check_names(names, settings)
    vocabulary = Vocabulary(settings.classes)
    return LinearModel(
        learner=type(rule).__name__,
        labels=[vocabulary.spell(label, vocabulary.first_spelling()) for label in labels],
        biases=biases,
        weights={name: [column.get(name, 0.0) for column in columns] for name in names},
        scales={name: scales[name] for name in names} if scales else {},
        threshold=getattr(rule, "threshold", 0.0),
        positive_at_threshold=getattr(rule, "tie", False),
        has_log_odds=learner_of(model).has_log_odds,
        settings=settings,
    )


def _check(rule: Any, settings: Settings) -> None:  # noqa: ANN401 - any of perceptron_core's models
    """Refuse a model whose score is no such function."""
    name = type(rule).__name__
    other = "--format mlflow takes any model, and `perceptron predict` any model file"
    if not isinstance(rule, (LinearRule, MulticlassClassifier)):
        raise ConfigurationError(f"{name} is no linear model: its score is no sum over features", hint=other)
    if isinstance(rule, BayesianLogistic):
        raise ConfigurationError(f"{name} is no linear model: it divides by its uncertainty", hint=other)
    if settings.events.tenant:
        raise ConfigurationError(
            f"events.tenant: a model with features of tenants ({settings.events.tenant}) is not exported",
            hint="`perceptron predict` takes it",
        )


def _check_names(names: Sequence[Any], settings: Settings) -> None:
    """Refuse features that events do not have, and a model without any."""
    if not names:
        raise ConfigurationError(
            "the model has learned nothing yet: it has no weights", hint="train it first"
        )
    kind = int if settings.hash_bits else str
    for name in names:
        if type(name) is not kind:
            raise ConfigurationError(
                f"the feature {name!r} is no {'index of a hashed name' if kind is int else 'name'}",
                hint="--hash-bits must be what the model was made with",
            )


def fixed_weights(model: LinearModel, target: str) -> Mapping[Any, Sequence[float]]:
    """Return the weights of values that count as they are.

    Where all values are those of words, 1 each, scales can be multiplied into the weights.

    Raises
    ------
    ConfigurationError
        Values beyond those seen so far count less, which `target` cannot say.

    """
    if not model.scales:
        return model.weights
    made = model.settings
    only_words = not made.hash_bits and all(name.startswith(TEXT) for name in model.weights)
    if not only_words or made.text_values != "binary" or made.normalize != "none":
        reason = f"{model.learner} lowers the weight of a value larger than all before it"
        raise model.refuse(target, reason)
    scales = model.scales
    return {name: [weight / max(1.0, scales[name]) for weight in row] for name, row in model.weights.items()}
