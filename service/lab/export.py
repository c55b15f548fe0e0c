"""Linear models in the form of other programs: JSON, a pipeline of scikit-learn, ONNX.

Each format gets a `LinearModel`: a function of features by name or index, and how these are made.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from perceptron_core import BayesianLogistic, HashedClassifier, NormalizedAdaGrad
from perceptron_core.linear.linear_rule import LinearRule
from perceptron_core.linear.multiclass import MulticlassClassifier
from perceptron_core.linear.normalized_adagrad import MulticlassNormalizedAdaGrad
from service.errors import ConfigurationError
from service.messages.labels import LabelValue, Vocabulary
from service.models.registry import learner_of
from service.settings.code import need
from service.settings.declaration import Decides
from service.settings.fields import names_that_decide
from service.settings.load import Settings
from service.version import version

TEXT: Final = "text="
"""Names of features that a text makes begin with it."""
_JSON_FORMAT: Final = "online-perceptron-linear"
_JSON_VERSION: Final = 1
_OPSET: Final = 13
_IR_VERSION: Final = 8
_INT64: Final = 7
"""The type, as ONNX numbers it."""


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
            f"--format {target}: {reason}", hint="--format json says all of a linear model"
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
    other = "`perceptron predict` and `service.load` take any model file"
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
    """Write a model as JSON, a feature on each line (docs/guides/library/export.md)."""
    entries = (f" {_written(key)}: {_laid_out(value)}" for key, value in _description(model).items())
    return ("{\n" + ",\n".join(entries) + "\n}\n").encode()


def _written(value: object) -> str:
    return json.dumps(value, allow_nan=False)


def _laid_out(value: object) -> str:
    if not isinstance(value, dict) or not value:
        return _written(value)
    return "{\n" + ",\n".join(f"  {_written(key)}: {_written(each)}" for key, each in value.items()) + "\n }"


def as_sklearn(model: LinearModel) -> bytes:
    """Write a model as a pickled pipeline of dictionaries of features, or of texts where all are words.

    Raises
    ------
    ConfigurationError
        scikit-learn is not installed, or cannot make these features.

    """
    need("sklearn", "--format sklearn", "sklearn")
    return pickle.dumps(_pipeline(model))


def _pipeline(model: LinearModel) -> Any:  # noqa: ANN401 - scikit-learn is untyped
    from sklearn.pipeline import make_pipeline  # noqa: PLC0415 - an extra

    _check_sklearn(model)
    weights = fixed_weights(model, "sklearn")
    names = list(weights)
    classifier = _classifier(model)
    classifier.classes_ = np.array(model.labels)
    classifier.coef_ = np.array([weights[name] for name in names]).T
    classifier.intercept_ = np.array(model.biases) - model.threshold
    classifier.n_features_in_ = len(names)
    return make_pipeline(_vectorizer(model, names), classifier)


def _classifier(model: LinearModel) -> Any:  # noqa: ANN401 - as above
    from sklearn.linear_model import LogisticRegression, Perceptron  # noqa: PLC0415

    return LogisticRegression() if model.has_log_odds else Perceptron()


def _vectorizer(model: LinearModel, names: list[str]) -> Any:  # noqa: ANN401 - as above
    from sklearn.feature_extraction import DictVectorizer  # noqa: PLC0415
    from sklearn.feature_extraction.text import CountVectorizer  # noqa: PLC0415

    settings = model.settings
    if not model.has_text:
        vectorizer = DictVectorizer()
        vectorizer.feature_names_ = names
        vectorizer.vocabulary_ = {name: column for column, name in enumerate(names)}
        return vectorizer
    return CountVectorizer(
        vocabulary={name.removeprefix(TEXT): column for column, name in enumerate(names)},
        ngram_range=tuple(settings.ngrams),
        token_pattern=r"\w+",  # noqa: S106 - a token of text, not of access
        lowercase=settings.lowercase,
        binary=settings.text_values == "binary",
        dtype=np.float64,
    )


def _check_sklearn(model: LinearModel) -> None:
    settings = model.settings
    if settings.hash_bits:
        raise model.refuse("sklearn", "its hashing gives names of two signs one index, which ours does not")
    if settings.normalize != "none":
        raise model.refuse("sklearn", f"normalize={settings.normalize} counts words that the model never saw")
    if not model.has_text:
        return
    if not all(name.startswith(TEXT) for name in model.weights):
        raise model.refuse("sklearn", "features beside a text have no place in a vectorizer of its own")
    if settings.text != "words":
        raise model.refuse("sklearn", f"its CountVectorizer cuts texts otherwise than text={settings.text}")


def as_onnx(model: LinearModel) -> bytes:
    """Write a model as ONNX: input `features` (rows × columns), outputs `label` and `scores`.

    Raises
    ------
    ConfigurationError
        onnx is not installed, or the model reads texts or hashes names.

    """
    need("onnx", "--format onnx", "onnx")
    settings = model.settings
    if model.has_text:
        raise model.refuse("onnx", "there is no operator that cuts or hashes texts and names as here")
    if settings.normalize != "none":
        raise model.refuse("onnx", f"normalize={settings.normalize} counts features that are no columns")
    from onnx import TensorProto, checker, helper, numpy_helper  # noqa: PLC0415 - an extra

    names = list(model.weights)
    nodes = [helper.make_node(*each[:3], **each[3]) for each in _operations(model)]
    used = {name for node in nodes for name in node.input}
    graph = helper.make_graph(
        nodes,
        "linear",
        [helper.make_tensor_value_info("features", TensorProto.DOUBLE, ["rows", len(names)])],
        [
            helper.make_tensor_value_info("label", TensorProto.STRING, ["rows"]),
            helper.make_tensor_value_info("scores", TensorProto.DOUBLE, ["rows", len(model.biases)]),
        ],
        [numpy_helper.from_array(each, name) for name, each in _constants(model).items() if name in used],
    )
    opsets = [helper.make_opsetid("", _OPSET)]
    made = helper.make_model(
        graph, opset_imports=opsets, ir_version=_IR_VERSION, producer_name="online-perceptron"
    )
    helper.set_model_props(made, {"features": json.dumps(names), "learner": model.learner})
    checker.check_model(made)
    written: bytes = made.SerializeToString()
    return written


def _constants(model: LinearModel) -> dict[str, Any]:
    return {
        "weights": np.array(list(model.weights.values())),
        "bias": np.array(model.biases),
        "labels": np.array(model.label_names, dtype=object),
        "threshold": np.array([model.threshold]),
        "scales": np.array(list(model.scales.values())),
        "columns": np.array([1]),
    }


def _operations(model: LinearModel) -> Iterator[tuple[str, list[str], list[str], dict[str, int]]]:
    """Yield operators with inputs, outputs and attributes."""
    values = "features"
    if model.scales:
        yield "Abs", ["features"], ["sizes"], {}
        yield "Max", ["sizes", "scales"], ["divisors"], {}
        yield "Div", ["features", "divisors"], ["values"], {}
        values = "values"
    yield "MatMul", [values, "weights"], ["sums"], {}
    yield "Add", ["sums", "bias"], ["scores"], {}
    if len(model.biases) > 1:
        yield "ArgMax", ["scores"], ["best"], {"axis": 1, "keepdims": 0}
    else:
        above = "GreaterOrEqual" if model.positive_at_threshold else "Greater"
        yield above, ["scores", "threshold"], ["fires"], {}
        yield "Cast", ["fires"], ["numbers"], {"to": _INT64}
        yield "Squeeze", ["numbers", "columns"], ["best"], {}
    yield "Gather", ["labels", "best"], ["label"], {}


EXPORTS: Final[Mapping[str, Callable[[LinearModel], bytes]]] = {
    "json": as_json,
    "sklearn": as_sklearn,
    "onnx": as_onnx,
}
