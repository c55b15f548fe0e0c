"""Predicted events: pending ones, which wait for labels, and those that a batch learned.

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
"""Memory of an example without its features: id, prediction, entries in tables."""
_FEATURE_BYTES = 128
"""Memory of a feature in a dictionary, without the feature's name."""
_LOOSE_FEATURES = 256
"""Features of an event up to which they remain a dictionary: packing would take as long as learning."""
_LOOSE_BYTES = 4096
"""Bytes of a message up to which its features remain a dictionary."""

_ROWS_OF_A_CHUNK: Final = 200
"""Rows packed at a time, so that the GIL is held for half a millisecond."""

_OPTIONAL_FIELDS: Final = ("keys", "is_provisional", "decision", "weight", "due_ms", "is_learned_early")
"""Optional last fields of a row."""

_pack: Final = msgpack.Packer().pack


class Example:
    """A predicted event: its features at that time, and the prediction.

    Parameters
    ----------
    event_id
        The id of the event, by which labels find the example.
    kept
        The features, as a dictionary or `FeatureArray`; of a large event they are packed, which takes a tenth
        of the memory.
    predicted, score, timestamp_ms
        The predicted class and its score, and the event time.
    message_bytes
        Length of the event's message in bytes.

    Attributes
    ----------
    truth : bool or str or None
        The class of its label; None before the label arrives.
    step : object
        The change of the weights when it was learned; before that, the learner's prediction context. Plain
        values that only the learner interprets.
    keys : bytes
        Its keys in the windows that count labels, as `Windows.on_event` writes them.
    is_provisional : bool
        Whether its truth was assumed at the timeout, without a label.
    decision : str or None
        The name of the decision on it, if any.
    weight : float
        The weight of its label in learning, without the weight of the class.
    due_ms : int
        Event time at which it is learned without a label; -1 once it was learned or timed out.
    is_learned_early : bool
        Whether it was learned without a label before its timeout.
    size_bytes : int
        Estimated size in memory, once it is pending.

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
        """The features, in the order of the prediction."""
        features: X = _as_dict(self.features())
        return features

    def features(self) -> X | FeatureArray:
        """Return the features: the `FeatureArray` if there is one, else a dictionary."""
        if not isinstance(self.kept, bytes):
            return self.kept
        unpacked: X = msgpack.unpackb(self.kept, strict_map_key=False)
        return unpacked

    def compact(self) -> int:
        """Pack the features of a large event; return the example's estimated size in memory, in bytes.

        The estimate depends on the content alone, so it is the same on every machine. The length of the
        message counts twice: the names of features are part of it, and n-grams make more names.
        """
        kept = self.kept
        if not isinstance(kept, bytes):
            n = len(kept)
            if n <= _LOOSE_FEATURES and self.message_bytes <= _LOOSE_BYTES:
                self.size_bytes = _EXAMPLE_BYTES + _FEATURE_BYTES * n + 2 * self.message_bytes
                return self.size_bytes
        return self.pack()

    def pack(self) -> int:
        """Pack the features of an event that is rarely needed again; return the size as `compact` does."""
        if not isinstance(self.kept, bytes):
            self.kept = _pack(self.x)
        self.size_bytes = _EXAMPLE_BYTES + len(self.kept)
        return self.size_bytes


def _as_dict(features: Any) -> Any:  # noqa: ANN401 - or bytes, which stay
    return features.as_dict() if isinstance(features, FeatureArray) else features


def row_of(example: Example) -> tuple[Any, ...]:
    """Return the id and the fields of an example; trailing optional fields without a value are left out."""
    row = (
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
        optional = example.keys, example.is_provisional, example.decision, example.weight
        if example.due_ms:
            return (*row, *optional, example.due_ms, example.is_learned_early)
        return row + optional
    if example.decision is not None:
        return (*row, example.keys, example.is_provisional, example.decision)
    if example.is_provisional:
        return (*row, example.keys, True)
    return (*row, example.keys) if example.keys else row


def example_of(row: Sequence[Any]) -> Example:
    """Return the example of a row from `row_of`."""
    event_id, kept, predicted, score, timestamp_ms, truth, step, message_bytes, *optional = row
    example = Example(event_id, kept, predicted, score, timestamp_ms, message_bytes)
    example.truth, example.step = truth, step
    for name, value in zip(_OPTIONAL_FIELDS, optional, strict=False):
        setattr(example, name, value)
    return example


def pack_rows(rows: Sequence[tuple[Any, ...]]) -> Iterator[bytes]:
    """Yield the rows of examples as chunks of one MessagePack array; other threads run between chunks."""
    packer = msgpack.Packer(default=_as_dict, unicode_errors="surrogatepass")
    yield packer.pack_array_header(len(rows))
    for start in range(0, len(rows), _ROWS_OF_A_CHUNK):
        yield b"".join([packer.pack(row) for row in rows[start : start + _ROWS_OF_A_CHUNK]])


def probability_of(predicted: TrueLabel, score: float) -> float:
    """Return the probability of the predicted class.

    >>> probability_of(False, -2.0), probability_of("spam", -2.0)
    (0.8807..., 0.1192...)

    """
    return logistic(log_odds_of(predicted, score))


class Correction(NamedTuple):
    """A label that replaces the learned label of a prediction."""

    n_before: int
    """How many labelled predictions of the batch precede it."""
    predicted: TrueLabel
    score: float
    log_odds: float | None
    """Log-odds of the predicted class; None if the learner's scores are not log-odds."""
    before: TrueLabel
    truth: TrueLabel
    example: Example


class LabelledPrediction(NamedTuple):
    """An example and its label, as observers receive it."""

    example: Example
    truth: TrueLabel
    """The label as it was learned; `example.truth` may have been corrected since."""
    updates: int
    """The model's count of updates after it learned the truth."""
    label_delay_seconds: float | None
    """Event time from the event to its label; None if they arrived together."""
    has_log_odds: bool
    """Whether the score is a log-odds."""

    @property
    def mistake(self) -> bool:
        """Whether the prediction was wrong, according to the label."""
        return self.example.predicted != self.truth

    @property
    def probability(self) -> float | None:
        """Probability of the predicted class; None if the learner's scores are not log-odds."""
        return probability_of(self.example.predicted, self.example.score) if self.has_log_odds else None


class LearnedExamples:
    """The examples that a batch learned, in order: a sequence of labelled predictions, stored in columns.

    Parameters
    ----------
    has_log_odds
        Whether the scores are log-odds.
    parts
        Receive the label of each noted example, and each correction.

    Attributes
    ----------
    examples, truths, mistakes : list
        The examples, the labels that they were learned with, and whether each prediction was wrong.
    corrections : list of Correction
        The labels that replaced others, in order; they are not labelled predictions.

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
    def __getitem__(self, index: int) -> LabelledPrediction: ...
    @overload
    def __getitem__(self, index: slice) -> LearnedExamples: ...
    def __getitem__(self, index: int | slice) -> LabelledPrediction | LearnedExamples:
        """Return a labelled prediction, or a slice."""
        if not isinstance(index, slice):
            truth, updates, delay = self.truths[index], self._updates[index], self._delays[index]
            return LabelledPrediction(self.examples[index], truth, updates, delay, self.has_log_odds)
        part = LearnedExamples(has_log_odds=self.has_log_odds)
        part.examples, part.truths = self.examples[index], self.truths[index]
        part.mistakes, part._updates = self.mistakes[index], self._updates[index]
        part._delays = self._delays[index]
        return part

    def __iter__(self) -> Iterator[LabelledPrediction]:
        return iter([self[index] for index in range(len(self.examples))])

    def note(
        self,
        example: Example,
        truth: TrueLabel,
        change: object,
        updates: int,
        label_delay_seconds: float = nan,
    ) -> None:
        """Note an example's truth, the weight change of learning it, and whether its prediction was wrong.

        The delay is NaN if label and event arrived together.
        """
        example.step, example.truth = change, truth
        self.examples.append(example)
        self.truths.append(truth)
        self.mistakes.append(example.predicted != truth)
        self._updates.append(updates)
        self._delays.append(None if isnan(label_delay_seconds) else label_delay_seconds)
        for part in self.parts:
            part.on_label(example, None, truth)

    def correct(self, example: Example, truth: TrueLabel, change: object) -> None:
        """Note a corrected truth of an example, and the weight change of learning it."""
        assert example.truth is not None
        predicted, score = example.predicted, example.score
        log_odds = log_odds_of(predicted, score) if self.has_log_odds else None
        self.corrections.append(
            Correction(len(self), predicted, score, log_odds, example.truth, truth, example)
        )
        for part in self.parts:
            part.on_label(example, example.truth, truth)
        example.step, example.truth = change, truth

    def predictions(self) -> list[TrueLabel]:
        """Return each predicted class."""
        return [example.predicted for example in self.examples]

    def scores(self) -> array[float]:
        """Return each score."""
        return array("d", [example.score for example in self.examples])

    def scores_of(self, truth: TrueLabel) -> array[float]:
        """Return the scores of the examples of one of two classes."""
        scores, n = array("d", bytes(8 * len(self.examples))), 0
        column: Any = memoryview(scores)  # in C an array of doubles
        for k in range(len(self.examples)):
            if self.truths[k] is truth:
                example = self.examples[k]
                column[n] = example.score
                n += 1
        return scores[:n]

    def margins(self) -> array[float]:
        """Return y·score of examples of two classes, True first: negative where a prediction was wrong."""
        return self.scores_of(True) + array("d", [-score for score in self.scores_of(False)])  # noqa: FBT003

    def label_delays(self) -> array[float]:
        """Return the delays in seconds of labels that arrived after their event."""
        return array("d", [delay for delay in self._delays if delay is not None])

    def log_odds(self) -> list[float]:
        """Return the log-odds of each predicted class; meaningful only with `has_log_odds`."""
        return [log_odds_of(example.predicted, example.score) for example in self.examples]

    def cells(self) -> bytes | None:
        """Return 2·truth + prediction of each example; None unless all are of two classes."""
        cells = bytearray()
        for k in range(len(self.examples)):
            example, truth = self.examples[k], self.truths[k]
            predicted = example.predicted
            if not (type(truth) is bool and type(predicted) is bool):
                return None
            cells.append(2 * (truth is True) + (predicted is True))
        return bytes(cells)

    def since_last_update(self) -> list[LabelledPrediction]:
        """Return the predictions since the model's last update whose label arrived with the event.

        The score of an event whose label arrived later is from an older model.
        """
        predictions: list[LabelledPrediction] = []
        for k in range(len(self.examples) - 1, -1, -1):
            if self._delays[k] is None:
                if predictions and self._updates[k] != predictions[0].updates:
                    break
                predictions.append(self[k])
        return predictions[::-1]


Sequence.register(LearnedExamples)


def count_numbers(scores: array[float]) -> list[tuple[int, int]]:
    """Return the bin numbers of scores, in the order of first occurrence, and the count of scores in each.

    A bin holds the doubles with the same sign, exponent and first three bits of the mantissa. Its number
    consists of these bits; −0 counts as 0.

    >>> count_numbers(array("d", [1.0, -2.0, 1.0625, 0.0]))
    [(8184, 2), (-8192, 1), (0, 1)]
    """
    bits = memoryview(scores).cast("B").cast("q")
    counts: dict[int, int] = {}
    left_out = BITS_LEFT_OUT
    for k in range(len(bits)):
        number = 0 if scores[k] == 0.0 else bits[k] >> left_out
        counts[number] = counts.get(number, 0) + 1
    return [*counts.items()]


Observer = Callable[[LearnedExamples], None]
"""Called with the labelled predictions of each batch, in order."""
