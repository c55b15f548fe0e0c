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
from service.errors import ConfigurationError
from service.features import X
from service.vocabulary import BINARY, Truth

_SIGNATURE_BYTES: Final = 32

BUILT_IN: Final[Mapping[str, type[base.Classifier]]] = {"perceptron": perceptron_core.Perceptron}


class Learner(Protocol):
    """What the processor asks of a model."""

    @property
    def updates(self) -> int:
        """Updates made so far."""

    def assess(self, x: X) -> tuple[Truth, float]:
        """Give the predicted class and the signed score."""

    def learn(self, x: X, truth: Truth) -> float:
        """Learn one example; give the step to undo, 0 if there is none."""

    def undo(self, x: X, step: float) -> bool:
        """Take an update back; False if this model cannot."""

    def weights(self) -> tuple[Mapping[Any, float], float] | None:
        """Give (weights, bias) where the model has them."""

    def dump(self) -> bytes:
        """Write the model down."""

    def load(self, data: bytes) -> None:
        """Become the model that `dump` wrote. Raises `DamagedError` if that cannot be trusted."""


class PerceptronLearner:
    """Drives a perceptron of ours."""

    def __init__(self, model: perceptron_core.Perceptron) -> None:
        self.model = model

    @property
    def updates(self) -> int:
        """Updates made so far."""
        return self.model.n_updates

    def learn(self, x: X, truth: Truth) -> float:
        """Learn one example; give the step that was made."""
        return self.model.update_one(x, truth)

    def assess(self, x: X) -> tuple[Truth, float]:
        """Give the predicted class and the activation."""
        score = self.model.score_one(x)
        return self.model.decide(score), score

    def undo(self, x: X, step: float) -> bool:
        """Take an update back."""
        self.model.undo_one(x, step)
        return True

    def weights(self) -> tuple[Mapping[Any, float], float]:
        """Give (weights, bias)."""
        return self.model.weights, self.model.bias

    def dump(self) -> bytes:
        """Write the model down, exactly and without pickle."""
        return perceptron_core.to_bytes(self.model)

    def load(self, data: bytes) -> None:
        """Become the model that was written."""
        self.model = perceptron_core.from_bytes(data)


class RiverLearner:
    """Drives any binary River classifier: the score is P(True) − P(False), every example an update.

    Such a model can only be written down as a pickle, and reading a pickle runs whatever code is in it:
    so it is signed with HMAC-SHA256, and nothing is unpickled whose signature does not fit.

    Parameters
    ----------
    model
        A River classifier or pipeline.
    key
        Secret that signs. Without one, the model can be used but not written down.

    """

    def __init__(self, model: base.Classifier, key: bytes = b"") -> None:
        self.model = model
        self.updates = 0
        self._key = key

    def assess(self, x: X) -> tuple[Truth, float]:
        """Give the more probable class; before anything was learned, False."""
        try:
            p = self.model.predict_proba_one(x)
        except NotImplementedError:
            predicted = bool(self.model.predict_one(x))
            return predicted, 1.0 if predicted else -1.0
        score = float(p.get(True, 0.0)) - float(p.get(False, 0.0))
        return score > 0, score

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
        raise ConfigurationError(
            f"classes: {len(classes)} class names, but the model {model!r} knows two classes",
            hint="give two class names, negative first: --classes ham,spam",
        )
    factory = BUILT_IN.get(model) or _import_factory(model)
    try:
        made = factory(**params)
    except Exception as error:
        raise ConfigurationError(
            f"model_params: {model} cannot be made with {dict(params)!r}: {error}",
            hint="parameters are given one by one: --model-param key=value",
        ) from error
    if isinstance(made, perceptron_core.Perceptron):
        return PerceptronLearner(made)
    if not (hasattr(made, "learn_one") and hasattr(made, "predict_proba_one")):
        raise ConfigurationError(f"model: {model} made {type(made).__name__}, which is no River classifier")
    return RiverLearner(made, key)


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
