"""Predicted events: those that wait for their labels, and those that a batch learned.

`examples.pxd` gives this module its C types.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Sequence
from math import isnan, nan
from typing import Any, Final, NamedTuple, overload

import msgpack

from perceptron_core.elementary import logistic
from perceptron_core.weights.feature_array import FeatureArray
from service.messages.features import X
from service.messages.labels import TrueLabel, log_odds_of
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

_FURTHER: Final = ("keys", "is_provisional", "decision", "weight", "due_ms", "is_learned_early")
"""Fields that a row has as far as they are needed."""

_pack: Final = msgpack.Packer().pack


class Example:
    """A predicted event: its features then, and the prediction.

    Parameters
    ----------
    event_id
        The id of the event, under which the example is kept.
    kept
        The features, as a dictionary or `FeatureArray`; of a large event packed, which takes a tenth of the
        memory.
    predicted, score, timestamp_ms
        The prediction, and the time of the event.
    message_bytes
        Length of the event's message.

    Attributes
    ----------
    truth : bool or str or None
        The class its label denotes; None before that has come.
    step : object
        What learning it did to the weights, and before that what the learner said of it: plain values, which
        only the learner understands.
    keys : bytes
        Its keys in windows that count labels, as `Windows.predicted` notes them.
    is_provisional : bool
        Whether its truth is that of the time-out, and no label has said so.
    decision : str or None
        The name of the decision on it; None if there was none.
    weight : float
        How much its label counts in learning, that of its class left out.
    due_ms : int
        When it is learned without a label; -1 once it was, or its time was over.
    is_learned_early : bool
        Whether it was learned so.
    size_bytes : int
        Estimated size in memory, once it is kept.

    """

    def __init__(
        self,
        event_id: str,
        kept: X | FeatureArray | bytes,
        predicted: TrueLabel,
        score: float,
        timestamp_ms: int,
        message_bytes: int = 0,
    ) -> None:
        self.event_id = event_id
        self.kept = kept
        self.predicted = predicted
        self.score = score
        self.timestamp_ms = timestamp_ms
        self.message_bytes = message_bytes
        self.truth: TrueLabel | None = None
        self.step: object = 0.0
        self.keys = b""
        self.is_provisional = False
        self.decision: str | None = None
        self.weight = 1.0
        self.due_ms = 0
        self.is_learned_early = False
        self.size_bytes = 0

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
    """Return the id and the fields of a kept example; of the last six, those up to the last that it has."""
    found = (
        example.event_id,
        example.kept,
        example.predicted,
        example.score,
        example.timestamp_ms,
        example.truth,
        example.step,
        example.message_bytes,
    )
    if example.due_ms or example.weight != 1.0:
        further = example.keys, example.is_provisional, example.decision, example.weight
        if example.due_ms:
            return (*found, *further, example.due_ms, example.is_learned_early)
        return found + further
    if example.decision is not None:
        return (*found, example.keys, example.is_provisional, example.decision)
    if example.is_provisional:
        return (*found, example.keys, True)
    return (*found, example.keys) if example.keys else found


def example_of(row: Sequence[Any]) -> Example:
    """Return the example of which `row_of` returned this row."""
    event_id, kept, predicted, score, timestamp_ms, truth, step, message_bytes, *further = row
    example = Example(event_id, kept, predicted, score, timestamp_ms, message_bytes)
    example.truth, example.step = truth, step
    for name, value in zip(_FURTHER, further, strict=False):
        setattr(example, name, value)
    return example


def pack_rows(rows: Sequence[tuple[Any, ...]]) -> Iterator[bytes]:
    """Yield the pieces of the rows of examples as one MessagePack array: other threads get turns between."""
    packer = msgpack.Packer(default=_as_dict, unicode_errors="surrogatepass")
    yield packer.pack_array_header(len(rows))
    for start in range(0, len(rows), _ROWS_OF_A_PIECE):
        yield b"".join([packer.pack(row) for row in rows[start : start + _ROWS_OF_A_PIECE]])


def probability_of(predicted: TrueLabel, score: float) -> float:
    """Return the probability of the predicted class.

    >>> probability_of(False, -2.0), probability_of("spam", -2.0)
    (0.8807..., 0.1192...)

    """
    return logistic(log_odds_of(predicted, score))


class Correction(NamedTuple):
    """Another label of a labelled prediction, in place of the one that was learned."""

    place: int
    """How many labelled predictions of the batch came before it."""
    predicted: TrueLabel
    score: float
    log_odds: float | None
    """Of the predicted class; None where the learner's scores are none."""
    before: TrueLabel
    truth: TrueLabel
    example: Example


class LabelledPrediction(NamedTuple):
    """An example and its label, as observers receive it."""

    example: Example
    truth: TrueLabel
    """As it was learned; the example has what is known now."""
    updates: int
    """Those that the model had made once it had learned the truth."""
    label_delay_seconds: float | None
    """Event time from the event to its label; None where they came together."""
    has_log_odds: bool
    """Whether the score is one of the log-odds."""

    @property
    def event_id(self) -> str:
        """The id of the event."""
        return self.example.event_id

    @property
    def x(self) -> X:
        """The features."""
        return self.example.x

    @property
    def predicted(self) -> TrueLabel:
        """The predicted class."""
        return self.example.predicted

    @property
    def score(self) -> float:
        """The score of the prediction."""
        return self.example.score

    @property
    def mistake(self) -> bool:
        """Whether the label says that the prediction was wrong."""
        return self.predicted != self.truth

    @property
    def probability(self) -> float | None:
        """Of the predicted class; None where the learner's scores are not log-odds."""
        return probability_of(self.predicted, self.score) if self.has_log_odds else None


class LearnedExamples:
    """The examples that a batch learned, in order: a sequence of labelled predictions, kept in columns.

    Parameters
    ----------
    has_log_odds
        Whether their scores are log-odds.
    parts
        Take the labels of the examples that are noted, and corrections.

    Attributes
    ----------
    examples, truths, mistakes : list
        The examples, the labels that they were learned with, and whether these say that the prediction was
        wrong.
    corrections : list of Correction
        The labels that took the place of others, in order; they are not labelled predictions.

    """

    def __init__(self, *, has_log_odds: bool = False, parts: tuple[Part, ...] = ()) -> None:
        self.has_log_odds, self.parts = has_log_odds, parts
        self.examples: list[Example] = []
        self.truths: list[TrueLabel] = []
        self.mistakes: list[bool] = []
        self._updates: list[int] = []
        self._delays: list[float | None] = []
        self.corrections: list[Correction] = []

    def __len__(self) -> int:
        return len(self.examples)

    @overload
    def __getitem__(self, place: int) -> LabelledPrediction: ...
    @overload
    def __getitem__(self, place: slice) -> LearnedExamples: ...
    def __getitem__(self, place: int | slice) -> LabelledPrediction | LearnedExamples:
        """Return a labelled prediction, or some of them."""
        if not isinstance(place, slice):
            truth, updates, delay = self.truths[place], self._updates[place], self._delays[place]
            return LabelledPrediction(self.examples[place], truth, updates, delay, self.has_log_odds)
        found = LearnedExamples(has_log_odds=self.has_log_odds)
        found.examples, found.truths = self.examples[place], self.truths[place]
        found.mistakes, found._updates = self.mistakes[place], self._updates[place]
        found._delays = self._delays[place]
        return found

    def __iter__(self) -> Iterator[LabelledPrediction]:
        return iter([self[place] for place in range(len(self.examples))])

    def note(
        self,
        example: Example,
        truth: TrueLabel,
        change: object,
        updates: int,
        label_delay_seconds: float = nan,
    ) -> None:
        """Note an example's truth, the change that learning it made, and how its prediction turned out.

        The delay is NaN where label and event came together.
        """
        example.step, example.truth = change, truth
        self.examples.append(example)
        self.truths.append(truth)
        self.mistakes.append(example.predicted != truth)
        self._updates.append(updates)
        self._delays.append(None if isnan(label_delay_seconds) else label_delay_seconds)
        for part in self.parts:
            part.learned(example, None, truth)

    def correct(self, example: Example, truth: TrueLabel, change: object) -> None:
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

    def predictions(self) -> list[TrueLabel]:
        """Return each predicted class."""
        return [example.predicted for example in self.examples]

    def scores(self) -> array[float]:
        """Return each score."""
        return array("d", [example.score for example in self.examples])

    def scores_of(self, truth: TrueLabel) -> array[float]:
        """Return the scores of the examples of one of two classes."""
        found, n = array("d", bytes(8 * len(self.examples))), 0
        column: Any = memoryview(found)  # in C an array of doubles
        for place in range(len(self.examples)):
            if self.truths[place] is truth:
                example = self.examples[place]
                column[n] = example.score
                n += 1
        return found[:n]

    def margins(self) -> array[float]:
        """Return y·a of each example of one of two classes: negative where the prediction was wrong."""
        found, n = array("d", bytes(8 * len(self.examples))), 0
        column: Any = memoryview(found)  # in C an array of doubles
        for place in range(len(self.examples)):
            example, truth = self.examples[place], self.truths[place]
            if truth is True or truth is False:
                column[n] = example.score if truth is True else -example.score
                n += 1
        return found[:n]

    def label_delays(self) -> array[float]:
        """Return the delays of the labels that came later, in seconds."""
        return array("d", [delay for delay in self._delays if delay is not None])

    def log_odds(self) -> list[float]:
        """Return the log-odds of each predicted class; they are none unless `has_log_odds`."""
        return [log_odds_of(example.predicted, example.score) for example in self.examples]

    def cells(self) -> bytes | None:
        """Return 2·truth + prediction of each; None where one of them is not one of two classes."""
        cells = bytearray()
        for place in range(len(self.examples)):
            example, truth = self.examples[place], self.truths[place]
            predicted = example.predicted
            if not (type(truth) is bool and type(predicted) is bool):
                return None
            cells.append(2 * (truth is True) + (predicted is True))
        return bytes(cells)

    def since_last_update(self) -> list[LabelledPrediction]:
        """Return those from the last update of the model on, of labels that came with their events.

        Of a label that came later, the score is an older model's and says nothing of this one.
        """
        found: list[LabelledPrediction] = []
        for place in range(len(self.examples) - 1, -1, -1):
            if self._delays[place] is None:
                if found and self._updates[place] != found[0].updates:
                    break
                found.append(self[place])
        return found[::-1]


Sequence.register(LearnedExamples)


def count_numbers(scores: array[float]) -> list[tuple[int, int]]:
    """Return the numbers of the scores' bins, in the order in which they come first, and the scores in each.

    A bin holds the doubles that have the same sign, exponent and first three bits of the mantissa. Its number
    is these first bits; −0 counts as 0.

    >>> count_numbers(array("d", [1.0, -2.0, 1.0625, 0.0]))
    [(8184, 2), (-8192, 1), (0, 1)]
    """
    bits = memoryview(scores).cast("B").cast("q")
    counts: dict[int, int] = {}
    left_out = BITS_LEFT_OUT
    for place in range(len(bits)):
        number = 0 if scores[place] == 0.0 else bits[place] >> left_out
        counts[number] = counts.get(number, 0) + 1
    return [*counts.items()]


Observer = Callable[[LearnedExamples], None]
"""Called with the labelled predictions of each batch, in order."""
