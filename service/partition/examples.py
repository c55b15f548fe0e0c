"""Predicted events: those that wait for their labels, and those that a batch learned.

`examples.pxd` gives this module its C types.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from math import isnan, nan
from operator import attrgetter
from typing import Any, Final, NamedTuple, overload

import msgpack

from perceptron_core.elementary import logistic
from perceptron_core.weights.feature_array import FeatureArray
from service.messages.features import X
from service.messages.labels import Truth, log_odds_of
from service.partition.parts.part import Part
from service.partition.parts.thresholds import BITS_LEFT_OUT

_EXAMPLE_BYTES = 512
"""Memory of an example besides its features: id, prediction, entries in tables."""
_FEATURE_BYTES = 128
"""Memory of a feature in a dictionary, without its name."""
_LOOSE_FEATURES = 256
_LOOSE_BYTES = 4096
"""Up to here features stay the dictionary they are: packing and unpacking takes as long as learning."""

_ROWS_OF_A_PIECE: Final = 200
"""So that the GIL is held for half a millisecond at a time."""

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
        features: X = _as_dict(self.features())
        return features

    def features(self) -> X | FeatureArray:
        """Return the features: a `FeatureArray` if they are kept as one, else a dictionary."""
        if not isinstance(self.kept, bytes):
            return self.kept
        unpacked: X = msgpack.unpackb(self.kept, strict_map_key=False)
        return unpacked

    def compact(self) -> int:
        """Pack the features of a large event; return the estimated size of the example in memory, in bytes.

        The estimate is a function of the content, the same on every machine. Names of features are part of
        the message: its length counts twice, for the names that n-grams make of it.
        """
        kept = self.kept
        if not isinstance(kept, bytes):
            n = len(kept)
            if n <= _LOOSE_FEATURES and self.message_bytes <= _LOOSE_BYTES:
                self.size_bytes = _EXAMPLE_BYTES + _FEATURE_BYTES * n + 2 * self.message_bytes
                return self.size_bytes
        return self.pack()

    def pack(self) -> int:
        """Pack the features, as of an event that is hardly asked for again; return what `compact` does."""
        if not isinstance(self.kept, bytes):
            self.kept = _pack(self.x)
        self.size_bytes = _EXAMPLE_BYTES + len(self.kept)
        return self.size_bytes


def _as_dict(features: Any) -> Any:  # noqa: ANN401 - or bytes, which stay
    return features.as_dict() if isinstance(features, FeatureArray) else features


def row_of(example: Example) -> tuple[Any, ...]:
    """Return the id and the fields of a kept example; of the last four, those up to the last that it has."""
    found = (
        example.event_id,
        example.kept,
        example.predicted,
        example.score,
        example.timestamp_ms,
        example.truth,
        example.step,
        example.message_bytes,
        example.trace,
    )
    if example.weight != 1.0:
        return (*found, example.keys, example.is_provisional, example.decision, example.weight)
    if example.decision is not None:
        return (*found, example.keys, example.is_provisional, example.decision)
    if example.is_provisional:
        return (*found, example.keys, True)
    return (*found, example.keys) if example.keys else found


def pack_rows(rows: Sequence[tuple[Any, ...]]) -> Iterator[bytes]:
    """Yield the pieces of the rows of examples as one MessagePack array: other threads get turns between."""
    packer = msgpack.Packer(default=_as_dict, unicode_errors="surrogatepass")
    yield packer.pack_array_header(len(rows))
    for start in range(0, len(rows), _ROWS_OF_A_PIECE):
        yield b"".join([packer.pack(row) for row in rows[start : start + _ROWS_OF_A_PIECE]])


class Correction(NamedTuple):
    """Another label of a labelled prediction, in place of the one that was learned."""

    place: int
    """How many labelled predictions of the batch came before it."""
    predicted: Truth
    score: float
    log_odds: float | None
    """As of a `Step`."""
    before: Truth
    truth: Truth
    example: Example


class Step:  # noqa: PLW1641 - holds a dictionary, so it is not hashable
    """A labelled prediction, as observers receive it.

    Parameters
    ----------
    event_id, x, score, predicted, truth, mistake
        The event, what was predicted of it, and how that turned out.
    updates
        Updates the model had made once it had learned the truth.
    label_delay_seconds
        Event time from the event to its label; None where they came together.
    log_odds
        Of the predicted class; None where the learner's scores are no log-odds.

    """

    def __init__(
        self,
        event_id: str,
        x: X | FeatureArray | bytes,
        score: float,
        predicted: Truth,
        truth: Truth,
        mistake: bool,  # noqa: FBT001 - as its neighbours
        updates: int,
        label_delay_seconds: float | None = None,
        log_odds: float | None = None,
    ) -> None:
        self.event_id = event_id
        self.kept = x
        self.score = score
        self.predicted = predicted
        self.truth = truth
        self.mistake = mistake
        self.updates = updates
        self.label_delay_seconds = label_delay_seconds
        self.log_odds = log_odds

    def __eq__(self, other: object) -> bool:
        """Return whether another step has the same values."""
        return isinstance(other, Step) and bool(_fields(self) == _fields(other))

    def __repr__(self) -> str:
        return f"Step{_fields(self)}"

    @property
    def x(self) -> X:
        """The features."""
        return Example(self.kept, self.predicted, self.score, 0).x

    @property
    def probability(self) -> float | None:
        """Of the predicted class; None where the learner's scores are no log-odds."""
        return None if self.log_odds is None else logistic(self.log_odds)

    @property
    def n_features(self) -> int:
        """How many features the event had."""
        return len(self.x)


_fields: Final = attrgetter(
    *("event_id", "x", "score", "predicted", "truth", "mistake", "updates", "label_delay_seconds", "log_odds")
)


class LearnedExamples:
    """The examples that a batch learned, in order: a sequence of their labelled predictions.

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
            Step(event_id, example.kept, score, predicted, truth, mistake, updates, delay_seconds, log_odds)
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
            if not (type(truth) is bool and type(predicted) is bool):
                return None
            cells.append(2 * truth + predicted)
        return bytes(cells)

    def since_last_update(self) -> list[Step]:
        """Return the steps from the last update of the model on, of labels that came with their events.

        Of a label that came later, the score is an older model's and says nothing of this one.
        """
        latest = [step for step in self._steps if step.label_delay_seconds is None]
        first = len(latest)
        while first and latest[first - 1].updates == latest[len(latest) - 1].updates:
            first -= 1
        return latest[first:]


Sequence.register(LearnedExamples)


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
