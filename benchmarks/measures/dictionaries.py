"""Learning from dictionaries: ours against River's learners, predict_one and learn_one by turns."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from river import linear_model

from perceptron_core import AROW, PassiveAggressive, Perceptron

from .base import Contest, Goal, Measure, Row
from .clock import rate
from .examples import Example, gaussian, sms_source, sms_words

_EVENTS = 20_000
_QUICK_EVENTS = 4_000


def _rate(make: Callable[[], Any], stream: Sequence[Example]) -> Sequence[float]:
    """Measure events per second over a stream, each pass with a fresh model."""

    def once() -> None:
        model = make()
        predict, learn = model.predict_one, model.learn_one
        for x, y in stream:
            predict(x)
            learn(x, y)

    return (rate(once, len(stream)),)


@contextlib.contextmanager
def _contest(
    ours: Callable[[], Any],
    peer: Callable[[], Any],
    stream: Callable[[bool], Sequence[Example]],
    quick: bool,  # noqa: FBT001 - what `Measure.prepare` is called with
) -> Iterator[Contest]:
    examples = stream(quick)
    yield Contest(partial(_rate, ours, examples), partial(_rate, peer, examples))


def _gaussian(features: int) -> Callable[[bool], Sequence[Example]]:
    return lambda quick: gaussian(features, _QUICK_EVENTS if quick else _EVENTS * 20 // features)


def _measure(
    name: str,
    title: str,
    learners: tuple[Callable[[], Any], Callable[[], Any]],
    stream: Callable[[bool], Sequence[Example]],
    least: float,
    how: str,
) -> Measure:
    row = Row(name, title, "events/s", Goal(least), f"{how}; predict_one, then learn_one, in one process.")
    return Measure(name, (row,), partial(_contest, *learners, stream))


_PERCEPTRONS = (Perceptron, linear_model.Perceptron)
_NUMBERS = "Gaussian features with a linear truth, as dictionaries"

MEASURES = (
    _measure(
        "perceptron-20",
        "Perceptron, 20 features / River's Perceptron",
        _PERCEPTRONS,
        _gaussian(20),
        8,
        _NUMBERS,
    ),
    _measure(
        "perceptron-100",
        "Perceptron, 100 features / River's Perceptron",
        _PERCEPTRONS,
        _gaussian(100),
        6,
        _NUMBERS,
    ),
    _measure(
        "perceptron-words",
        "Perceptron, SMS words / River's Perceptron",
        _PERCEPTRONS,
        lambda quick: sms_words()[: _QUICK_EVENTS if quick else None],
        8,
        f"Binary bags of words of {sms_source()}, made beforehand",
    ),
    _measure(
        "passive-aggressive-20",
        "PassiveAggressive (PA-I), 20 features / River's PAClassifier",
        (PassiveAggressive, linear_model.PAClassifier),
        _gaussian(20),
        12,
        f"{_NUMBERS}; both PA-I with C = 1",
    ),
    _measure(
        "arow-20",
        "AROW, 20 features / River's PAClassifier",
        (AROW, linear_model.PAClassifier),
        _gaussian(20),
        12,
        f"{_NUMBERS}; River has no AROW",
    ),
)
