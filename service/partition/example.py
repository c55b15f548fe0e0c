"""Examples that wait for their labels. In: features, and what was predicted of them. Out: the same.

This is the interpreted form; `example.pyx` is the compiled one, and means the same.
"""

from __future__ import annotations

from operator import attrgetter
from typing import Final

import msgpack

from perceptron_core.weights.feature_array import FeatureArray
from service.messages.features import X
from service.messages.labels import Truth

_EXAMPLE_BYTES: Final = 512
"""Memory of an example besides its features: id, prediction, entries in tables."""
_FEATURE_BYTES: Final = 128
"""Memory of a feature in a dictionary, without its name."""
_LOOSE_FEATURES: Final = 256
_LOOSE_BYTES: Final = 4096
"""Up to here features stay the dictionary they are: packing and unpacking takes as long as learning."""

_pack: Final = msgpack.Packer().pack


class Example:
    """A predicted event: its features then, and the prediction.

    Parameters
    ----------
    kept
        The features, as a dictionary or `FeatureArray`; of a large event packed, which takes a tenth of the
        memory.
    predicted, score, timestamp_ms
        The prediction, and the time of the event.
    truth
        The class its label denotes; None before that has come.
    step
        What learning it did to the weights, and before that what the learner said of it: plain values, which
        only the learner understands.
    message_bytes
        Length of the event's message.
    trace
        The trace context of the event's record, as `trace_of` returns it.

    Attributes
    ----------
    event_id : str
        The id under which it is kept; not there before.

    """

    event_id: str

    def __init__(
        self,
        kept: X | FeatureArray | bytes,
        predicted: Truth,
        score: float,
        timestamp_ms: int,
        truth: Truth | None = None,
        step: object = 0.0,
        message_bytes: int = 0,
        trace: bytes = b"",
    ) -> None:
        self.kept = kept
        self.predicted = predicted
        self.score = score
        self.timestamp_ms = timestamp_ms
        self.truth = truth
        self.step = step
        self.message_bytes = message_bytes
        self.trace = trace
        self.size_bytes = 0
        """Estimated size in memory, once it is kept."""

    @property
    def x(self) -> X:
        """The features, in the order in which they were predicted on."""
        features = self.features()
        return features.as_dict() if isinstance(features, FeatureArray) else features

    def features(self) -> X | FeatureArray:
        """Return the features: a `FeatureArray` if they are kept as one, else a dictionary."""
        if not isinstance(self.kept, bytes):
            return self.kept
        unpacked: X = msgpack.unpackb(self.kept, strict_map_key=False)
        return unpacked

    @property
    def content(self) -> X | bytes:
        """The features as a dictionary, or packed."""
        return self.kept.as_dict() if isinstance(self.kept, FeatureArray) else self.kept

    def compact(self) -> int:
        """Pack the features of a large event; return the estimated size of the example in memory, in bytes.

        The estimate is a function of the content, the same on every machine. Names of features are part of
        the message: its length counts twice, for the names that n-grams make of it.
        """
        kept, message_bytes = self.kept, self.message_bytes
        if not isinstance(kept, bytes):
            if len(kept) <= _LOOSE_FEATURES and message_bytes <= _LOOSE_BYTES:
                self.size_bytes = _EXAMPLE_BYTES + _FEATURE_BYTES * len(kept) + 2 * message_bytes
                return self.size_bytes
            kept = self.kept = _pack(self.x)
        self.size_bytes = _EXAMPLE_BYTES + len(kept)
        return self.size_bytes


def make_example(
    kept: X | FeatureArray | bytes,
    predicted: Truth,
    score: float,
    step: object,
) -> Example:
    """Make an example; the caller sets its time, its trace and the bytes of its message."""
    return Example(kept, predicted, score, 0, None, step)


fields_of: Final = attrgetter(
    "content", "predicted", "score", "timestamp_ms", "truth", "step", "message_bytes", "trace"
)
"""Return the fields of an example, in order."""
