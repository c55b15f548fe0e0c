"""`learn_many` on a data frame, against the same rows one by one through River's interface."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import pandas as pd
from river import linear_model, stream

from perceptron_core import Perceptron

from .base import Contest, Goal, Measure, Row
from .clock import rate
from .examples import gaussian

_COLUMNS = 20
_ROWS = 20_000
_QUICK_ROWS = 5_000


def _many(X: pd.DataFrame, y: pd.Series) -> Sequence[float]:
    return (rate(lambda: Perceptron().learn_many(X, y), len(X)),)


def _one_by_one(make: Callable[[], Any], X: pd.DataFrame, y: pd.Series) -> Sequence[float]:
    def once() -> None:
        learn = make().learn_one
        for features, label in stream.iter_pandas(X, y):
            learn(features, label)

    return (rate(once, len(X)),)


@contextlib.contextmanager
def _contest(peer: Callable[[], Any], quick: bool) -> Iterator[Contest]:  # noqa: FBT001
    examples = gaussian(_COLUMNS, _QUICK_ROWS if quick else _ROWS)
    X = pd.DataFrame([x for x, _ in examples])
    y = pd.Series([label for _, label in examples])
    yield Contest(partial(_many, X, y), partial(_one_by_one, peer, X, y))


def _measure(name: str, title: str, peer: Callable[[], Any], whose: str) -> Measure:
    how = (
        f"A pandas frame of {_COLUMNS} columns of doubles, learned without predicting; the peer is "
        f"{whose} learn_one on the rows of river.stream.iter_pandas."
    )
    return Measure(name, (Row(name, title, "rows/s", Goal(20), how),), partial(_contest, peer))


MEASURES = (
    _measure(
        "learn-many",
        "learn_many, 20 columns / the same learner row by row",
        Perceptron,
        "our own Perceptron's",
    ),
    _measure(
        "learn-many-river",
        "learn_many, 20 columns / River's Perceptron row by row",
        linear_model.Perceptron,
        "River's Perceptron's",
    ),
)
