"""Predicted events: those that wait for their labels, and those that a batch learned.

Where there is a compiler, `examples.pyx` stands in for this module.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import takewhile
from math import isnan, nan
from operator import attrgetter
from typing import Any, Final, overload

import msgpack

from perceptron_core.weights.feature_array import FeatureArray
from service.messages.features import X
from service.messages.labels import Truth
from service.models.probability import log_odds_of
from service.partition.parts.part import Part
from service.partition.parts.thresholds import BITS_LEFT_OUT
from service.partition.processed import Correction, Step

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
    keys
        Its keys in windows that count labels, as `Windows.predicted` notes them.
    is_provisional
        Whether its truth is that of the time-out, and no label has said so.
    decision
        The name of the decision on it; None if there was none.
    weight
        How much its label counts in learning, that of its class left out.

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
        keys: bytes = b"",
        is_provisional: bool = False,  # noqa: FBT001, FBT002 - as a snapshot has it
        decision: str | None = None,
        weight: float = 1.0,
    ) -> None:
        self.kept = kept
        self.predicted = predicted
        self.score = score
        self.timestamp_ms = timestamp_ms
        self.truth = truth
        self.step = step
        self.message_bytes = message_bytes
        self.trace = trace
        self.keys = keys
        self.is_provisional = is_provisional
        self.decision = decision
        self.weight = weight
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
        if isinstance(kept, bytes) or len(kept) > _LOOSE_FEATURES or message_bytes > _LOOSE_BYTES:
            return self.pack()
        self.size_bytes = _EXAMPLE_BYTES + _FEATURE_BYTES * len(kept) + 2 * message_bytes
        return self.size_bytes

    def pack(self) -> int:
        """Pack the features, as of an event that is hardly asked for again; return what `compact` does."""
        if not isinstance(self.kept, bytes):
            self.kept = _pack(self.x)
        self.size_bytes = _EXAMPLE_BYTES + len(self.kept)
        return self.size_bytes


def make_example(
    kept: X | FeatureArray | bytes,
    predicted: Truth,
    score: float,
    timestamp_ms: int,
    step: object = 0.0,
    message_bytes: int = 0,
    trace: bytes = b"",
) -> Example:
    """Make an example that has no truth yet; compiled, with less ado than by its constructor."""
    return Example(kept, predicted, score, timestamp_ms, None, step, message_bytes, trace)


_fields: Final = attrgetter(
    "content", "predicted", "score", "timestamp_ms", "truth", "step", "message_bytes", "trace"
)


def fields_of(example: Example) -> tuple[Any, ...]:
    """Return the fields of an example, in order; of the last four, those up to the last that it has."""
    found: tuple[Any, ...] = _fields(example)
    if example.weight != 1.0:
        return (*found, example.keys, example.is_provisional, example.decision, example.weight)
    if example.decision is not None:
        return (*found, example.keys, example.is_provisional, example.decision)
    if example.is_provisional:
        return (*found, example.keys, True)
    return (*found, example.keys) if example.keys else found


class LearnedExamples(Sequence[Step]):
    """The examples that a batch learned, in order: a sequence of their labelled predictions.

    A `Step` is made only when one is asked for; the methods return what is asked of all of them.

    Parameters
    ----------
    steps
        The first of them.
    has_log_odds
        Whether the scores of the examples that are noted later are log-odds.
    parts
        Take the labels of the examples that are noted later, and corrections.

    Attributes
    ----------
    has_log_odds : bool
        Whether one of them may have log-odds.
    n_mistakes : int
        How many predictions were wrong.
    corrections : list of Correction
        The labels that took the place of others, in order; they are no steps.

    """

    def __init__(
        self, steps: Iterable[Step] = (), *, has_log_odds: bool = False, parts: tuple[Part, ...] = ()
    ) -> None:
        self._steps = list(steps)
        self.parts = parts
        self.has_log_odds = has_log_odds or any(step.log_odds is not None for step in self._steps)
        self.n_mistakes = sum(step.mistake for step in self._steps)
        self.corrections: list[Correction] = []

    def __len__(self) -> int:
        return len(self._steps)

    @overload
    def __getitem__(self, place: int) -> Step: ...
    @overload
    def __getitem__(self, place: slice) -> LearnedExamples: ...
    def __getitem__(self, place: int | slice) -> Step | LearnedExamples:
        """Return a labelled prediction, or some of them."""
        if isinstance(place, slice):
            return LearnedExamples(self._steps[place])
        return self._steps[place]

    def __iter__(self) -> Iterator[Step]:
        return iter(self._steps)

    def note(
        self,
        event_id: str,
        example: Example,
        truth: Truth,
        change: object,
        updates: int,
        label_delay_seconds: float = nan,
    ) -> None:
        """Note an example's truth, the change that learning it made, and how its prediction turned out.

        The delay is NaN where label and event came together.
        """
        example.step, example.truth = change, truth
        predicted, score = example.predicted, example.score
        mistake = predicted != truth
        log_odds = log_odds_of(predicted, score) if self.has_log_odds else None
        self.n_mistakes += mistake
        delay_seconds = None if isnan(label_delay_seconds) else label_delay_seconds
        self._steps.append(
            Step(event_id, example.x, score, predicted, truth, mistake, updates, delay_seconds, log_odds)
        )
        for part in self.parts:
            part.learned(example, None, truth)

    def correct(self, example: Example, truth: Truth, change: object) -> None:
        """Note another truth of an example, and the change that learning it made."""
        assert example.truth is not None
        predicted, score = example.predicted, example.score
        log_odds = log_odds_of(predicted, score) if self.has_log_odds else None
        self.corrections.append(
            Correction(len(self), predicted, score, log_odds, example.truth, truth, example)
        )
        for part in self.parts:
            part.learned(example, example.truth, truth)
        example.step, example.truth = change, truth

    def mistakes(self) -> list[bool]:
        """Return whether each prediction was wrong."""
        return [step.mistake for step in self._steps]

    def truths(self) -> list[Truth]:
        """Return each label."""
        return [step.truth for step in self._steps]

    def predictions(self) -> list[Truth]:
        """Return each predicted class."""
        return [step.predicted for step in self._steps]

    def scores(self) -> array[float]:
        """Return each score."""
        return array("d", [step.score for step in self._steps])

    def scores_of(self, truth: Truth) -> array[float]:
        """Return the scores of the examples of one of two classes."""
        return array("d", [step.score for step in self._steps if step.truth is truth])

    def margins(self) -> array[float]:
        """Return y·a of each example of one of two classes: negative where the prediction was wrong."""
        signed = [(step.score, step.truth) for step in self._steps if isinstance(step.truth, bool)]
        return array("d", [score if truth else -score for score, truth in signed])

    def label_delays(self) -> array[float]:
        """Return the delays of the labels that came later, in seconds."""
        return array("d", [delay for step in self._steps if (delay := step.label_delay_seconds) is not None])

    def log_odds(self) -> list[float | None]:
        """Return the log-odds of each predicted class; None where the learner's scores are none."""
        return [step.log_odds for step in self._steps]

    def cells(self) -> bytes | None:
        """Return 2·truth + prediction of each; None where one of them is not one of two classes."""
        cells = bytearray()
        for step in self._steps:
            truth, predicted = step.truth, step.predicted
            if not (isinstance(truth, bool) and isinstance(predicted, bool)):
                return None
            cells.append(2 * truth + predicted)
        return bytes(cells)

    def since_last_update(self) -> list[Step]:
        """Return the steps from the last update of the model on, of labels that came with their events.

        Of a label that came later, the score is an older model's and says nothing of this one.
        """
        latest = [step for step in self._steps if step.label_delay_seconds is None]
        unchanged = takewhile(lambda step: step.updates == latest[-1].updates, reversed(latest))
        return [*unchanged][::-1]


def count_numbers(scores: array[float]) -> list[tuple[int, int]]:
    """Return the numbers of the scores' bins, in the order in which they come first, and the scores in each.

    A bin holds the doubles that have the same sign, exponent and first three bits of the mantissa. Its number
    is these first bits; −0 counts as 0.

    >>> count_numbers(array("d", [1.0, -2.0, 1.0625, 0.0]))
    [(8184, 2), (-8192, 1), (0, 1)]
    """
    doubles = memoryview(array("d", [score + 0.0 for score in scores])).cast("B").cast("q")
    return [*Counter(bits >> BITS_LEFT_OUT for bits in doubles).items()]


Observer = Callable[[LearnedExamples], None]
"""Called with the labelled predictions of each batch, in order."""
