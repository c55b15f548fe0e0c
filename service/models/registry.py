"""Make the learner that the setting `model` names.

A built-in name gives one of `perceptron_core`'s classes; `package.module:factory` or
`path/to/file.py:factory` gives the River classifier or pipeline that the factory makes.
"""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from river import base

from perceptron_core.arrays.hashed_classifier import HashedClassifier
from perceptron_core.auto.auto_classifier import AutoClassifier
from perceptron_core.formats.model_bytes import learners
from perceptron_core.linear.binary import BinaryClassifier
from perceptron_core.linear.linear_rule import LinearRule
from perceptron_core.linear.multiclass import MulticlassClassifier
from service.errors import ConfigurationError
from service.messages.labels import BINARY
from service.models.core import AutoLearner, BinaryLearner, MulticlassLearner, can_be_written, with_classes
from service.models.learner import Learner, last_step
from service.models.river import RiverLearner
from service.settings.code import import_code

_MAX_BITS_IN_ARRAYS: Final = 24
"""Largest arrays: 128 MiB for each number per feature. In larger arrays, few cells would ever be used."""

BUILT_IN: Final[Mapping[str, type[base.Classifier]]] = learners()
OWN_FEATURES: Final = {name: made for name, made in BUILT_IN.items() if issubclass(made, AutoClassifier)}
"""The models that make their own features of raw events."""
_OF_SEVERAL_CLASSES: Final[Mapping[str, str]] = {
    name.replace("multiclass-", ""): name for name in BUILT_IN if "multiclass-" in name
}
"""The multiclass counterpart of a name, used for more than two classes."""

_NUMBERS: Final = frozenset({"float", "int", "Rate"})
_FACTORY_HINT: Final = (
    "--model package.module:factory or path/to/file.py:factory must return a River classifier, or a "
    "pipeline that ends in one, when called with the --model-param values"
)


def make_learner(
    model: str, params: Mapping[str, Any], classes: Sequence[str] = (), key: bytes = b"", hash_bits: int = 0
) -> Learner:
    """Make the learner that the settings `model` and `model_params` describe; `key` signs pickles.

    If features are hashed, a built-in two-class learner keeps its weights in arrays: same predictions, less
    memory.

    Raises
    ------
    ConfigurationError
        For an unknown name, a factory that cannot be imported or called, or unsuitable parameters.

    """
    known = built_in(model, classes)
    factory = known or _import_factory(model)
    try:
        params = _with_bits(factory, params, hash_bits)
        if known is not None:
            _check_types(factory, params)
        made = factory(**params)
    except Exception as error:
        raise _cannot_be_made(model, factory, params, error) from error
    if isinstance(made, AutoClassifier):
        return AutoLearner(with_classes(made, classes))
    if isinstance(made, MulticlassClassifier):
        return MulticlassLearner(with_classes(made, classes))
    if len(classes) > BINARY and not getattr(made, "_multiclass", False):
        raise ConfigurationError(
            f"classes: {len(classes)} class names, but the model {model!r} has two classes",
            hint=f"choose a multiclass model: {', '.join((*OWN_FEATURES, *_OF_SEVERAL_CLASSES.values()))}",
        )
    if isinstance(made, BinaryClassifier) and can_be_written(made):
        if isinstance(made, LinearRule) and 0 < hash_bits <= _MAX_BITS_IN_ARRAYS:
            made = HashedClassifier(made, hash_bits)
        return BinaryLearner(made)
    if not _classifies(made):
        raise ConfigurationError(
            f"model: {model}: expected a River classifier, got {type(made).__name__}", hint=_FACTORY_HINT
        )
    return RiverLearner(made, key, classes)


def built_in(model: object, classes: object) -> type[base.Classifier] | None:
    """Return the class of a built-in name for these classes; None if the name is not built in."""
    if not isinstance(model, str):
        return None
    several = isinstance(classes, Sequence) and len(classes) > BINARY
    return BUILT_IN.get(_OF_SEVERAL_CLASSES.get(model, model) if several else model)


def learner_of(model: Any) -> Learner:  # noqa: ANN401 - any of perceptron_core's
    """Return the learner that drives an existing model of `perceptron_core`, such as one from a file."""
    if isinstance(model, AutoClassifier):
        return AutoLearner(model)
    return MulticlassLearner(model) if isinstance(model, MulticlassClassifier) else BinaryLearner(model)


def _with_bits(factory: Any, params: Mapping[str, Any], hash_bits: int) -> Mapping[str, Any]:  # noqa: ANN401 - any model
    """Return the parameters of a model; models that hash texts themselves get `hash_bits`."""
    has_bits = isinstance(factory, type) and issubclass(factory, AutoClassifier)
    has_bits = has_bits and "hash_bits" in inspect.signature(factory).parameters
    return {"hash_bits": hash_bits, **params} if has_bits and hash_bits else params


def _check_types(factory: Callable[..., Any], params: Mapping[str, Any]) -> None:
    """Raise TypeError for an unknown parameter or a value of the wrong type, such as text for a number."""
    declared = inspect.signature(factory).parameters
    for name, value in params.items():
        if name not in declared:
            raise TypeError(f"unknown parameter {name!r}")
        kind, or_none, _ = str(declared[name].annotation).partition(" | None")
        if or_none and value is None:
            continue
        if kind in _NUMBERS and not isinstance(value, (int, float)):
            raise TypeError(f"{name}: expected a number, got {value!r}")
        if kind == "bool" and not isinstance(value, int):
            raise TypeError(f"{name}: expected true or false, got {value!r}")
        if kind.startswith("Sequence") and not isinstance(value, (list, tuple)):
            raise TypeError(f"{name}: expected a list, got {value!r}")


def _cannot_be_made(
    model: str, factory: Callable[..., Any], params: Mapping[str, Any], error: Exception
) -> ConfigurationError:
    """Return the error of a factory, which names the parameters if any were given."""
    if params:
        return ConfigurationError(
            f"model_params: {model} cannot be made with {dict(params)!r}: {error}",
            hint=f"set --model-param key=value with one of the keys {_parameters(factory)}",
        )
    reason = f"{type(error).__name__}: {error}"
    return ConfigurationError(f"model: {model} could not make a model: {reason}", hint=_FACTORY_HINT)


def _parameters(factory: Callable[..., Any]) -> str:
    try:
        return ", ".join(inspect.signature(factory).parameters) or "none"
    except (TypeError, ValueError):  # not callable, or a built-in without a known signature
        return "the arguments of its function"


def _classifies(made: object) -> bool:
    """Return whether an object learns and predicts classes; a pipeline does if its last step does."""
    made = last_step(made)
    return hasattr(made, "learn_one") and hasattr(made, "predict_proba_one")


def _import_factory(model: str) -> Callable[..., Any]:
    if ":" not in model:
        if model.endswith(".py"):
            raise ConfigurationError(
                f"model: {model!r} is a file: expected the name of a function or class in it as well",
                hint=f"--model {model}:factory, where factory is a function or class of that file",
            )
        known = ", ".join(BUILT_IN)
        meant = "".join(f"did you mean {name}? " for name in difflib.get_close_matches(model, BUILT_IN, n=1))
        raise ConfigurationError(
            f"model: unknown model {model!r}; built-in models: {known}",
            hint=f"{meant}name your own: --model package.module:factory or path/to/file.py:factory",
        )
    factory: Callable[..., Any] = import_code("model", model, _FACTORY_HINT)
    return factory
