"""Export linear models to other programs: JSON, a scikit-learn pipeline, ONNX.

Each format is made from a `LinearModel`: weights of features by name or index, and how features are made.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from perceptron_core import HashedClassifier
from perceptron_core.linear.linear_rule import LinearRule
from perceptron_core.linear.multiclass import MulticlassClassifier
from service.errors import ConfigurationError
from service.messages.labels import LabelValue, Vocabulary
from service.models.registry import learner_of
from service.settings.code import need
from service.settings.declaration import Decides
from service.settings.fields import names_that_decide
from service.settings.load import Settings
from service.version import version

TEXT: Final = "text="
"""Prefix of the names of a text's features."""
_JSON_FORMAT: Final = "online-perceptron-linear"
_JSON_VERSION: Final = 1
_ONNX: Final = """
<ir_version: 8, opset_import: ["" : 13], producer_name: "online-perceptron">
linear (double[rows, {columns}] features) => (string[rows] label, double[rows, {scores}] scores) {{
    {operations}
    label = Gather (labels, best)
}}
"""
_SCALED: Final = "sizes = Abs (features) divisors = Max (sizes, scales) values = Div (features, divisors)"
_SCORES: Final = "sums = MatMul ({values}, weights) scores = Add (sums, bias)"
_HIGHEST: Final = "best = ArgMax <axis = 1, keepdims = 0> (scores)"
_ABOVE: Final = (
    "fires = {above} (scores, threshold) numbers = Cast <to = 7> (fires) best = Squeeze (numbers, axes)"
)


@dataclass(frozen=True)
class LinearModel:
    """A linear model with one score for two classes, or a score for each of several classes.

    A score is the bias plus the sum of weight times value over the features, in the order of the event. With
    scales, a value v counts as v / max(|v|, scale).
    """

    learner: str
    """Name of the model's class."""
    labels: Sequence[LabelValue]
    """The labels. With two classes, the negative one is first; with several, the highest score decides."""
    biases: Sequence[float]
    """One for each score."""
    weights: Mapping[Any, Sequence[float]]
    """Weights for each score, by feature."""
    scales: Mapping[Any, float]
    """Scales by feature; empty if values are not scaled."""
    threshold: float
    """With one score: above the threshold, the class is the positive one."""
    positive_at_threshold: bool
    has_log_odds: bool
    """Whether the only score is the log-odds of the positive class."""
    settings: Settings
    """Settings of the features of an event."""

    @property
    def label_names(self) -> list[str]:
        """The labels as text."""
        return [str(label).lower() if isinstance(label, bool) else str(label) for label in self.labels]

    @property
    def has_text(self) -> bool:
        """Whether any feature is a text's; if names are hashed, any feature may be."""
        return bool(self.settings.hash_bits) or any(name.startswith(TEXT) for name in self.weights)

    def reject(self, target: str, reason: str) -> ConfigurationError:
        """Return the error for a model that a format cannot express, with the formats that can."""
        return ConfigurationError(
            f"--format {target}: {reason}", hint="--format json exports every linear model"
        )


def linear_model(model: Any, settings: Settings) -> LinearModel:  # noqa: ANN401 - any of perceptron_core's
    """Return a model that was made with these settings as a `LinearModel`.

    Raises
    ------
    ConfigurationError
        The model is not a linear function of named features.

    """
    rule = model.learner if isinstance(model, HashedClassifier) else model
    _check(rule, settings)
    weights, scales = getattr(rule, "scaled_weights", rule.weights), getattr(rule, "scales", {})
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
    """Reject a model whose score is not a linear function."""
    name = type(rule).__name__
    other = "use `perceptron predict` or `service.load`, which take every model"
    if not isinstance(rule, (LinearRule, MulticlassClassifier)):
        raise ConfigurationError(
            f"{name} is not a linear model: its score is not a sum over features", hint=other
        )
    if hasattr(rule, "moderation_of"):
        raise ConfigurationError(f"{name} is not a linear model: it divides by its uncertainty", hint=other)
    if settings.events.tenant:
        raise ConfigurationError(
            f"events.tenant: a model with features of tenants ({settings.events.tenant}) is not exported",
            hint="`perceptron predict` takes it",
        )


def _check_names(names: Sequence[Any], settings: Settings) -> None:
    """Reject features that events cannot have, and a model without features."""
    if not names:
        raise ConfigurationError("the model has no weights, as it has not learned yet", hint="train it first")
    kind = int if settings.hash_bits else str
    for name in names:
        if type(name) is not kind:
            raise ConfigurationError(
                f"expected {'the index of a hashed name' if kind is int else 'a name'}, got feature {name!r}",
                hint="set --hash-bits as when the model was trained",
            )


def _description(model: LinearModel) -> dict[str, Any]:
    """Return all of a model in plain values."""
    has_one_score = len(model.biases) == 1
    return {
        "format": _JSON_FORMAT,
        "version": _JSON_VERSION,
        "written_by": f"online-perceptron {version()}",
        "learner": model.learner,
        "labels": list(model.labels),
        "threshold": model.threshold if has_one_score else None,
        "label_at_threshold": model.labels[model.positive_at_threshold] if has_one_score else None,
        "score_is_log_odds": model.has_log_odds,
        "features": {
            name: getattr(model.settings, name) for name in (*names_that_decide(Decides.TEXT), "hash_bits")
        },
        "bias": list(model.biases),
        "weights": {str(name): list(row) for name, row in model.weights.items()},
        "scales": {str(name): scale for name, scale in model.scales.items()},
    }


def as_json(model: LinearModel) -> bytes:
    """Write a model as JSON (docs/guides/library/export.md)."""
    return (json.dumps(_description(model), allow_nan=False) + "\n").encode()


def _check_columns(model: LinearModel, target: str) -> None:
    """Reject features that are not columns of numbers."""
    if model.has_text:
        raise model.reject(target, "features of texts and hashed names are not columns")
    if model.settings.normalize != "none":
        raise model.reject(
            target, f"normalize={model.settings.normalize} counts features that are not columns"
        )


def as_sklearn(model: LinearModel) -> bytes:
    """Write a model as a pickled pipeline that takes dictionaries of features.

    Raises
    ------
    ConfigurationError
        scikit-learn is not installed, or the model is not a function of columns as they are.

    """
    need("sklearn", "--format sklearn", "sklearn")
    from sklearn.feature_extraction import DictVectorizer  # noqa: PLC0415 - an extra
    from sklearn.linear_model import LogisticRegression, Perceptron  # noqa: PLC0415
    from sklearn.pipeline import make_pipeline  # noqa: PLC0415

    _check_columns(model, "sklearn")
    if model.scales:
        raise model.reject("sklearn", f"{model.learner} clips a value at its feature's largest so far")
    classifier = LogisticRegression() if model.has_log_odds else Perceptron()
    classifier.classes_ = np.array(model.labels)
    classifier.coef_ = np.array(list(model.weights.values())).T
    classifier.intercept_ = np.array(model.biases) - model.threshold
    classifier.n_features_in_ = len(model.weights)
    vectorizer = DictVectorizer(sort=False).fit([dict.fromkeys(model.weights, 1.0)])
    return pickle.dumps(make_pipeline(vectorizer, classifier))


def as_onnx(model: LinearModel) -> bytes:
    """Write a model as ONNX: input `features` (rows × columns), outputs `label` and `scores`.

    Raises
    ------
    ConfigurationError
        onnx is not installed, or the model is not a function of columns.

    """
    need("onnx", "--format onnx", "onnx")
    _check_columns(model, "onnx")
    from onnx import checker, helper, numpy_helper, parser  # noqa: PLC0415 - an extra

    above = "GreaterOrEqual" if model.positive_at_threshold else "Greater"
    steps = [
        _SCALED if model.scales else "",
        _SCORES.format(values="values" if model.scales else "features"),
        _HIGHEST if len(model.biases) > 1 else _ABOVE.format(above=above),
    ]
    sizes = {"columns": len(model.weights), "scores": len(model.biases)}
    made = parser.parse_model(_ONNX.format(operations=" ".join(steps), **sizes))
    constants = {
        "weights": np.array(list(model.weights.values())),
        "bias": np.array(model.biases),
        "labels": np.array(model.label_names, dtype=object),
        "threshold": np.array([model.threshold]),
        "scales": np.array(list(model.scales.values())),
        "axes": np.array([1]),
    }
    used = {name for node in made.graph.node for name in node.input}
    made.graph.initializer.extend(
        numpy_helper.from_array(each, name) for name, each in constants.items() if name in used
    )
    helper.set_model_props(made, {"features": json.dumps(list(model.weights)), "learner": model.learner})
    checker.check_model(made)
    written: bytes = made.SerializeToString()
    return written


EXPORTS: Final[Mapping[str, Callable[[LinearModel], bytes]]] = {
    "json": as_json,
    "sklearn": as_sklearn,
    "onnx": as_onnx,
}
