"""The library against River's learners, on the same examples in one process."""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from time import perf_counter
from typing import Any, Final

import data
import pandas as pd
from measures import Contestant, Prepare
from river import feature_extraction, linear_model, stream

from perceptron_core import AROW, HashedClassifier, PassiveAggressive, Perceptron
from perceptron_core.text.hasher import TextHasher

_EVENTS, _QUICK_EVENTS = 20_000, 4_000
_BITS, _BATCH = 18, 1000
_LEAST_SECONDS: Final = 0.3
"""Many times what a scheduler takes a core away for: compiled code does thousands of events in less."""

Comparison = tuple[Contestant, Contestant | None]


def _rate(once: Callable[[], object], events: int) -> Sequence[float]:
    """Repeat work of so many events for a while; return events per second."""
    gc.collect()
    done, began = 0, perf_counter()
    while (seconds := perf_counter() - began) < _LEAST_SECONDS:
        once()
        done += events
    return (done / seconds,)


def _by_turns(make: Callable[[], Any], examples: Sequence[tuple[Any, bool]]) -> Sequence[float]:
    def once() -> None:
        model = make()
        predict, learn = model.predict_one, model.learn_one
        for x, y in examples:
            predict(x)
            learn(x, y)

    return _rate(once, len(examples))


def _words(count: int) -> Sequence[data.Example]:
    split: Any = feature_extraction.BagOfWords().transform_one
    return [(dict.fromkeys(split(text), 1.0), y) for text, y in data.sms()[:count]]


def _numbers(count: int) -> Sequence[data.Example]:
    return data.gaussian(20, count)


def _dictionaries(
    make: Callable[[int], Sequence[data.Example]],
    ours: Callable[[], Any],
    peer: Callable[[], Any],
    quick: bool,  # noqa: FBT001
) -> Comparison:
    examples = make(_QUICK_EVENTS if quick else _EVENTS)
    return partial(_by_turns, ours, examples), partial(_by_turns, peer, examples)


def _raw_texts(quick: bool) -> Comparison:  # noqa: FBT001
    texts = data.sms()[: _QUICK_EVENTS if quick else None]
    batches = [tuple(zip(*texts[k : k + _BATCH], strict=True)) for k in range(0, len(texts), _BATCH)]
    hasher = TextHasher(_BITS)

    def ours() -> None:
        model = HashedClassifier(Perceptron(), _BITS)
        for messages, labels in batches:
            model.predict_learn_texts(hasher, messages, labels)

    peer = partial(_by_turns, lambda: feature_extraction.BagOfWords() | linear_model.Perceptron(), texts)
    return partial(_rate, ours, len(texts)), peer


def _frames(quick: bool) -> Comparison:  # noqa: FBT001
    examples = data.gaussian(20, _QUICK_EVENTS if quick else _EVENTS)
    X, y = pd.DataFrame([x for x, _ in examples]), pd.Series([label for _, label in examples])

    def peer() -> None:
        learn = linear_model.Perceptron().learn_one
        for features, label in stream.iter_pandas(X, y):
            learn(features, label)

    return partial(_rate, lambda: Perceptron().learn_many(X, y), len(X)), partial(_rate, peer, len(X))


MEASURES: Final[Mapping[str, Prepare]] = {
    "perceptron-20": partial(_dictionaries, _numbers, Perceptron, linear_model.Perceptron),
    "perceptron-words": partial(_dictionaries, _words, Perceptron, linear_model.Perceptron),
    "passive-aggressive-20": partial(_dictionaries, _numbers, PassiveAggressive, linear_model.PAClassifier),
    "arow-20": partial(_dictionaries, _numbers, AROW, linear_model.PAClassifier),
    "text-words": _raw_texts,
    "learn-many-river": _frames,
}
