"""Models by name. In: the `--model` setting. Out: a learner the processor can drive.

A built-in name gives one of `perceptron_core`'s classes; `package.module:factory` or
`path/to/file.py:factory` gives whatever River classifier or pipeline the factory makes.
"""

from __future__ import annotations

import hmac
import importlib
import importlib.util
import pickle
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, Final, Protocol

from river import base

import perceptron_core
from perceptron_core.binary import BinaryClassifier
from perceptron_core.explanation import Term
from perceptron_core.multiclass import MulticlassClassifier
from service.binary import BinaryLearner, can_be_written
from service.errors import ConfigurationError
from service.features import X
from service.multiclass import MulticlassLearner, with_classes
from service.vocabulary import BINARY, Truth

_SIGNATURE_BYTES: Final = 32

BUILT_IN: Final[Mapping[str, type[base.Classifier]]] = {
    "perceptron": perceptron_core.Perceptron,
    "margin-perceptron": perceptron_core.MarginPerceptron,
    "averaged-perceptron": perceptron_core.AveragedPerceptron,
    "voted-perceptron": perceptron_core.VotedPerceptron,
    "kernel-perceptron": perceptron_core.KernelPerceptron,
    "passive-aggressive": perceptron_core.PassiveAggressive,
    "arow": perceptron_core.AROW,
    "scw": perceptron_core.SCW,
    "multiclass-perceptron": perceptron_core.MulticlassPerceptron,
    "averaged-multiclass-perceptron": perceptron_core.AveragedMulticlassPerceptron,
    "multiclass-passive-aggressive": perceptron_core.MulticlassPassiveAggressive,
    "multiclass-arow": perceptron_core.MulticlassAROW,
}

_OF_SEVERAL_CLASSES: Final[Mapping[str, str]] = {
    "perceptron": "multiclass-perceptron",
    "averaged-perceptron": "averaged-multiclass-perceptron",
    "passive-aggressive": "multiclass-passive-aggressive",
    "arow": "multiclass-arow",
}
"""What a name means where more than two classes are named."""


class Learner(Protocol):
    """What the processor asks of a model."""

    @property
    def updates(self) -> int:
        """Updates made so far."""

    def assess(self, x: X) -> tuple[Truth, float]:
        """Give the predicted class and the signed score."""

    def learn(self, x: X, truth: Truth) -> object:
        """Learn one example; give the step to undo, in plain values, or what is false if there is none."""

    def undo(self, x: X, step: Any) -> bool:  # noqa: ANN401  each learner knows its own
        """Take an update back; False if this model cannot."""

    def weights(self) -> tuple[Mapping[Any, float], float | Mapping[Any, float]] | None:
        """Give (weights, bias) where the model has them; of a multiclass model, a bias by class."""

    def score(self, x: X, label: Truth) -> float:
        """Give the score that `assess` gives when it predicts `label`; signed where there are two classes."""

    def terms(self, x: X, label: Truth) -> Sequence[Term] | None:
        """Give what that score is the sum of, the bias last; None where it is no sum over features."""

    def dump(self) -> bytes:
        """Write the model down."""

    def load(self, data: bytes) -> None:
        """Become the model that `dump` wrote. Raises `DamagedError` if that cannot be trusted."""


class RiverLearner:
    """Drives any River classifier: the score is P(True) − P(False), every example an update.

    With more than two classes the score is the probability of the winning one.

    Such a model can only be written down as a pickle, and reading a pickle runs whatever code is in it:
    so it is signed with HMAC-SHA256, and nothing is unpickled whose signature does not fit.

    Parameters
    ----------
    model
        A River classifier or pipeline.
    key
        Secret that signs. Without one, the model can be used but not written down.
    classes
        Names of the classes, if there are more than two.

    """

    def __init__(self, model: base.Classifier, key: bytes = b"", classes: Sequence[str] = ()) -> None:
        self.model = model
        self._classes = tuple(classes) if len(classes) > BINARY else ()
        self.updates = 0
        self._key = key

    def assess(self, x: X) -> tuple[Truth, float]:
        """Give the most probable class; before anything was learned, False or the first one."""
        if self._classes:
            return self._assess_several(x)
        try:
            p = self.model.predict_proba_one(x)
        except NotImplementedError:
            predicted = bool(self.model.predict_one(x))
            return predicted, 1.0 if predicted else -1.0
        score = float(p.get(True, 0.0)) - float(p.get(False, 0.0))
        return score > 0, score

    def _assess_several(self, x: X) -> tuple[Truth, float]:
        try:
            p = self.model.predict_proba_one(x)
        except NotImplementedError:
            p = {self.model.predict_one(x) or self._classes[0]: 1.0}
        scores = [float(p.get(name, 0.0)) for name in self._classes]
        best = scores.index(max(scores))
        return self._classes[best], scores[best]

    def learn(self, x: X, truth: Truth) -> float:
        """Learn one example, which River always takes for an update."""
        self.model.learn_one(x, truth)
        self.updates += 1
        return 0.0

    def undo(self, x: X, step: float) -> bool:  # noqa: ARG002  the protocol's signature
        """Refuse: River's models do not unlearn."""
        return False

    def weights(self) -> None:
        """Give nothing: a pipeline has no one weight vector."""
        return

    def score(self, x: X, label: Truth) -> float:
        """Give the score of a class; of two classes the signed one."""
        if not self._classes:
            return self.assess(x)[1]
        try:
            return float(self.model.predict_proba_one(x).get(label, 0.0))
        except NotImplementedError:
            return float(self.model.predict_one(x) == label)

    def terms(self, x: X, label: Truth) -> None:  # noqa: ARG002  the protocol's signature
        """Give nothing: what goes on in a pipeline is its own business."""
        return

    def dump(self) -> bytes:
        """Write the model down: a pickle behind its signature."""
        body = pickle.dumps((self.model, self.updates))
        return self._signature(body) + body

    def load(self, data: bytes) -> None:
        """Become the model that was written, if it was signed with our key."""
        signature, body = data[:_SIGNATURE_BYTES], data[_SIGNATURE_BYTES:]
        if not hmac.compare_digest(signature, self._signature(body)):
            raise perceptron_core.DamagedError(
                "the signature of the pickled model does not fit: another checkpoint_key, or tampered with"
            )
        self.model, self.updates = pickle.loads(body)  # noqa: S301  signed by us, as just proved

    def _signature(self, body: bytes) -> bytes:
        if not self._key:
            raise ConfigurationError(
                "checkpoint_key: not set, and the checkpoint of a River model must be signed",
                hint="set the environment variable PERCEPTRON_CHECKPOINT_KEY to a long random secret",
            )
        return hmac.digest(self._key, body, "sha256")


def make_learner(
    model: str, params: Mapping[str, Any], classes: Sequence[str] = (), key: bytes = b""
) -> Learner:
    """Make the learner that the settings `model` and `model_params` describe; `key` signs pickles.

    Raises
    ------
    ConfigurationError
        For an unknown name, a factory that cannot be imported or called, or unsuitable parameters.

    """
    if len(classes) > BINARY:
        model = _OF_SEVERAL_CLASSES.get(model, model)
    factory = BUILT_IN.get(model) or _import_factory(model)
    try:
        made = factory(**params)
    except Exception as error:
        raise ConfigurationError(
            f"model_params: {model} cannot be made with {dict(params)!r}: {error}",
            hint="parameters are given one by one: --model-param key=value",
        ) from error
    if isinstance(made, MulticlassClassifier):
        return MulticlassLearner(with_classes(made, classes))
    if len(classes) > BINARY and not getattr(made, "_multiclass", False):
        raise ConfigurationError(
            f"classes: {len(classes)} class names, but the model {model!r} knows two classes",
            hint=f"models of several classes: {', '.join(_OF_SEVERAL_CLASSES.values())}",
        )
    if isinstance(made, BinaryClassifier) and can_be_written(made):
        return BinaryLearner(made)
    if not (hasattr(made, "learn_one") and hasattr(made, "predict_proba_one")):
        raise ConfigurationError(f"model: {model} made {type(made).__name__}, which is no River classifier")
    return RiverLearner(made, key, classes)


def _import_factory(model: str) -> Callable[..., Any]:
    location, colon, name = model.rpartition(":")
    if not colon:
        known = ", ".join(BUILT_IN)
        raise ConfigurationError(
            f"model: {model!r} is no built-in model; there is {known}",
            hint="your own: --model package.module:factory or --model path/to/file.py:factory",
        )
    try:
        factory = getattr(_import_module(location), name)
    except Exception as error:
        raise ConfigurationError(f"model: cannot import {model!r}: {error}") from error
    if not callable(factory):
        raise ConfigurationError(f"model: {model!r} is no function or class")
    return factory  # type: ignore[no-any-return]


def _import_module(location: str) -> ModuleType:
    if not location.endswith(".py"):
        return importlib.import_module(location)
    path = Path(location)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None or not path.exists():
        raise FileNotFoundError(f"no such file: {path}")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
