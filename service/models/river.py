"""Drives River models that are not from `perceptron_core`.

Such a model is unknown code: it may raise for any example, and can only be saved as a pickle.
"""

from __future__ import annotations

import hmac
import math
import pickle
from collections.abc import Sequence
from typing import Final

from river import base

from perceptron_core import DamagedError
from perceptron_core.formats.packed import Packed
from service.errors import ConfigurationError
from service.messages.features import X
from service.messages.labels import BINARY, TrueLabel
from service.models.learner import Learner, ModelError

_SIGNATURE_BYTES: Final = 32


class RiverLearner(Learner):
    """Drives any River classifier: the score is P(True) − P(False), every example an update.

    With more than two classes, the score is the probability of the winning class.

    An exception of the model becomes a `ModelError`. An exception in a prediction leaves the model unchanged;
    since every example is predicted before it is learned, unreadable examples fail there. An exception in
    learning may change the model; recovery, which replays the same examples, changes it in the same way.

    Reading a pickle runs the code in it. The pickle is therefore signed with HMAC-SHA256, and only a pickle
    with a valid signature is read.

    Parameters
    ----------
    model
        A River classifier or pipeline.
    key
        Secret key of the signature. Without a key, the model can be used but not saved.
    classes
        Names of the classes, if there are more than two.

    """

    has_files = False

    def __init__(self, model: base.Classifier, key: bytes = b"", classes: Sequence[str] = ()) -> None:
        self.model = model
        self._classes = tuple(classes) if len(classes) > BINARY else ()
        self.updates = 0
        self._key = key

    def assess(self, x: X) -> tuple[TrueLabel, float]:
        """Return the most probable class; before the first example, False or the first class."""
        try:
            predicted, score = self._assess_several(x) if self._classes else self._assess_two(x)
            if not math.isfinite(score):
                raise ValueError(f"the score is {score}")  # noqa: TRY301  as if the model had
        except MemoryError:  # not caused by the example
            raise
        except Exception as error:
            raise ModelError(error) from error
        return predicted, score

    def _assess_two(self, x: X) -> tuple[TrueLabel, float]:
        try:
            p = self.model.predict_proba_one(x)
        except NotImplementedError:
            predicted = bool(self.model.predict_one(x))
            return predicted, 1.0 if predicted else -1.0
        score = float(p.get(True, 0.0)) - float(p.get(False, 0.0))
        return score > 0, score

    def _assess_several(self, x: X) -> tuple[TrueLabel, float]:
        try:
            p = self.model.predict_proba_one(x)
        except NotImplementedError:
            p = {self.model.predict_one(x) or self._classes[0]: 1.0}
        scores = [float(p.get(name, 0.0)) for name in self._classes]
        best = scores.index(max(scores))
        return self._classes[best], scores[best]

    def predict_learn(self, x: X, truth: TrueLabel, w: float = 1.0) -> tuple[TrueLabel, float, float]:
        """Predict as `assess`, then learn as `learn`."""
        return *self.assess(x), self.learn(x, truth, b"", w)

    def learn(self, x: X, truth: TrueLabel, memo: bytes = b"", w: float = 1.0) -> float:  # noqa: ARG002  the protocol's signature
        """Learn one example, which always counts as an update."""
        if w == 0:
            return 0.0
        try:
            self.model.learn_one(x, truth, **({} if w == 1.0 else {"w": w}))
        except MemoryError:
            raise
        except Exception as error:
            raise ModelError(error) from error
        self.updates += 1
        return 0.0

    def score(self, x: X, label: TrueLabel) -> float:
        """Return the score of a class; with two classes, the signed score. Raises as `assess`."""
        if not self._classes:
            return self.assess(x)[1]
        try:
            return float(self.model.predict_proba_one(x).get(label, 0.0))
        except NotImplementedError:
            return float(self.model.predict_one(x) == label)
        except Exception as error:
            raise ModelError(error) from error

    def state(self) -> Packed:
        """Return the model as bytes: the signature, then the pickle."""
        try:
            body = pickle.dumps((self.model, self.updates))
        except Exception as error:
            raise ConfigurationError(
                f"model: a checkpoint of it cannot be made: {type(error).__name__}: {error}",
                hint="remove lambdas, open files and inner classes from the model",
            ) from error
        return Packed([self._signature(body), body])

    def load(self, data: bytes) -> None:
        """Load the model that `state` wrote, if its signature is valid."""
        signature, body = data[:_SIGNATURE_BYTES], data[_SIGNATURE_BYTES:]
        if not hmac.compare_digest(signature, self._signature(body)):
            raise DamagedError(
                "invalid signature of the pickled model: checkpoint_key differs, or the model was changed"
            )
        try:
            self.model, self.updates = pickle.loads(body)  # noqa: S301 - signed with the key, as just verified
        except Exception as error:  # a class has moved, or its package has another version
            reason = f"{type(error).__name__}: {error}"
            raise DamagedError(f"unreadable pickled model: {reason}") from error

    def _signature(self, body: bytes) -> bytes:
        if not self._key:
            raise ConfigurationError(
                "checkpoint_key: not set, but the checkpoint of a River model must be signed",
                hint="set the environment variable PERCEPTRON_CHECKPOINT_KEY to a long random secret",
            )
        return hmac.digest(self._key, body, "sha256")
