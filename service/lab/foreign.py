"""Make a model of the weights that another program has learned, to go on from.

What is read are numbers: JSON that a few lines of the user's own program write (docs/guides/export.md), or
the text of Vowpal Wabbit's --invert_hash. No pickle is read, since that would run whatever code is in it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from perceptron_core import HashedClassifier
from perceptron_core.base.linear_rule import LINEAR_STATE
from perceptron_core.base.multiclass_linear import LinearMulticlass
from service.errors import ConfigurationError, InputFileError
from service.messages.labels import UnknownLabelError, Vocabulary
from service.models.registry import BUILT_IN, make_learner
from service.partition.factory import make_extractor
from service.settings.load import Settings

_ROW_OF_VW: Final = re.compile(r"([^\s:]+?)(?:\[(\d+)\])?:\d+:(\S+)(?: .*)?")
_LABELS: Final = (-1, 1)

Linear = tuple[Mapping[str, float], float]
"""Weights and the intercept of one score."""
Scores = Mapping[Any, Linear]
"""What each label scores; of two classes the positive one alone."""


def read_foreign(path: Path, source: str, settings: Settings) -> Any:  # noqa: ANN401 - any of perceptron_core's models
    """Return the model that the settings describe, with the weights in a file.

    Parameters
    ----------
    path
        The file.
    source
        "sklearn", "river" or "vw".
    settings
        Their classes have the labels of the file, and their model is one that weights alone make.

    Raises
    ------
    InputFileError
        The file holds no such weights.
    ConfigurationError
        It does not fit the settings.

    """
    try:
        scores = _READERS[source](path.read_text(encoding="utf-8"))
        found = {
            label: ({str(name): float(weight) for name, weight in weights.items()}, float(intercept))
            for label, (weights, intercept) in scores.items()
        }
    except OSError as error:
        raise InputFileError(f"{path}: cannot be read: {error.strerror}") from None
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        why = str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
        raise InputFileError(
            f"{path}: holds no weights of {source}: {why}",
            hint="docs/guides/export.md shows how the file is written; a pickle is not read",
        ) from None
    return _model(path, found, settings)


def _sklearn(text: str) -> Scores:
    found = json.loads(text)
    rows = [
        (dict(zip(found["features"], row, strict=True)), intercept)
        for row, intercept in zip(found["coef"], found["intercept"], strict=True)
    ]
    labels: Sequence[Any] = found["classes"]
    return dict(zip(labels[1:] if len(rows) == 1 else labels, rows, strict=True))


def _river(text: str) -> Scores:
    found = json.loads(text)
    several = found.get("classes")
    if several is None:
        return {_LABELS[1]: (found["weights"], found["intercept"])}
    return {label: (each["weights"], each["intercept"]) for label, each in several.items()}


def _vw(text: str) -> Scores:
    options = next((line for line in text.splitlines() if line.startswith("options:")), None)
    if options is None:
        raise ValueError("it has no line of options, as the text of --invert_hash has")
    several = re.search(r"--oaa[ =](\d+)", options)
    named = re.search(r"--named_labels[ =](\S+)", options)
    labels: Sequence[Any] = _LABELS[1:]
    if several:
        labels = named[1].split(",") if named else [str(number + 1) for number in range(int(several[1]))]
    weights: list[dict[str, float]] = [{} for _ in labels]
    for line in text.splitlines():
        row = _ROW_OF_VW.fullmatch(line)
        if row:
            weights[int(row[2] or 0)][row[1]] = float(row[3])
    return {label: (each, each.pop("Constant", 0.0)) for label, each in zip(labels, weights, strict=True)}


_READERS: Final[Mapping[str, Callable[[str], Scores]]] = {"sklearn": _sklearn, "river": _river, "vw": _vw}
SOURCES: Final = tuple(_READERS)


def _model(path: Path, scores: Scores, settings: Settings) -> Any:  # noqa: ANN401 - as above
    model = make_learner(
        settings.model, settings.model_params, settings.classes, hash_bits=settings.hash_bits
    ).model  # type: ignore[attr-defined] # a built-in one has it
    rule = model.learner if isinstance(model, HashedClassifier) else model
    vocabulary = Vocabulary(settings.classes)
    try:
        by_truth = {vocabulary.truth(label): score for label, score in scores.items()}
    except UnknownLabelError as error:
        raise ConfigurationError(f"{path}: {error}", hint="--classes names the labels of the file") from None
    columns = {truth: _by_feature(path, weights, settings) for truth, (weights, _) in by_truth.items()}
    biases = {truth: bias for truth, (_, bias) in by_truth.items()}
    state = model._get_state()  # noqa: SLF001 - as model files do
    if state.keys() == LINEAR_STATE.keys() and len(by_truth) == 1:
        ((truth, weights),) = columns.items()
        sign = 1.0 if truth else -1.0
        state["weights"] = {name: sign * weight for name, weight in weights.items()}
        state["bias"] = sign * biases[truth] + getattr(rule, "threshold", 0.0)
    elif state.keys() == LinearMulticlass.STATE.keys() and set(by_truth) == set(model.classes):
        names = dict.fromkeys(name for column in columns.values() for name in column)
        state["_weights"] = {label: {n: columns[label].get(n, 0.0) for n in names} for label in model.classes}
        state["_bias"] = {label: biases[label] for label in model.classes}
    else:
        raise ConfigurationError(
            f"{path}: weights for {len(by_truth)} score(s) are not what makes a model {type(rule).__name__}",
            hint=f"--model {', '.join(_made_of_weights())}, with --classes as in the file",
        )
    try:
        model._set_state(state)  # noqa: SLF001
    except ValueError as error:
        raise InputFileError(f"{path}: {error}") from None
    return model


def _by_feature(path: Path, weights: Mapping[str, float], settings: Settings) -> dict[Any, float]:
    """Name the features as the service does, by index if their names are hashed."""
    extractor = make_extractor(settings)
    found: dict[Any, float] = {}
    for name, weight in weights.items():
        (feature,) = extractor.extract({name: 1.0}, None)
        if feature in found:
            raise ConfigurationError(
                f"{path}: two of {len(weights)} features have one index in {settings.hash_bits} bits",
                hint="more --hash-bits, or 0, which keeps names",
            )
        found[feature] = weight
    return found


def _made_of_weights() -> list[str]:
    """Name the models that weights and biases make."""
    return [
        name
        for name, kind in BUILT_IN.items()
        if getattr(kind, "STATE", {}).keys() in (LINEAR_STATE.keys(), LinearMulticlass.STATE.keys())
    ]
