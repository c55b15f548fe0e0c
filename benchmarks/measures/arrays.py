"""The array path: hashed indices and values, whole micro-batches, still one event after the other."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .array_path import hashed_perceptron, predict_and_learn
from .base import Contest, Goal, Measure, Reading, Row
from .clock import rate

_BITS = 18
_NONZERO = 15
_BATCH = 1000
_BATCHES, _QUICK_BATCHES = 500, 100
_NOISE = 0.1


class _Rows(NamedTuple):
    indptr: npt.NDArray[np.int64]
    indices: npt.NDArray[np.int32]
    values: npt.NDArray[np.float64]


def _batch(rng: np.random.Generator, truth: npt.NDArray[np.float64]) -> tuple[_Rows, npt.NDArray[np.bool_]]:
    indices = rng.integers(0, 1 << _BITS, (_BATCH, _NONZERO), dtype=np.int32)
    values = rng.normal(size=(_BATCH, _NONZERO))
    labels = (values * truth[indices]).sum(axis=1) + rng.normal(scale=_NOISE, size=_BATCH) > 0
    indptr = np.arange(_BATCH + 1, dtype=np.int64) * _NONZERO
    return _Rows(indptr, indices.ravel(), values.ravel()), labels


def _rate(batches: Sequence[tuple[_Rows, npt.NDArray[np.bool_]]]) -> Sequence[float]:
    def once() -> None:
        model = hashed_perceptron(_BITS)
        for rows, labels in batches:
            predict_and_learn(model, rows, labels)

    return (rate(once, len(batches) * _BATCH) / 1e6,)


@contextlib.contextmanager
def _contest(quick: bool) -> Iterator[Contest]:  # noqa: FBT001 - what `Measure.prepare` is called with
    rng = np.random.default_rng(1)
    truth = rng.normal(size=1 << _BITS)
    batches = [_batch(rng, truth) for _ in range(_QUICK_BATCHES if quick else _BATCHES)]
    yield Contest(lambda: _rate(batches))


MEASURES = (
    Measure(
        "arrays",
        (
            Row(
                "arrays",
                f"Array path, Perceptron, {_NONZERO} non-zeros per event",
                "M events/s",
                Goal(5, "M events/s"),
                f"Batches of {_BATCH} rows of random indices below 2^{_BITS}, with a linear truth; predict "
                "and learn, one thread.",
                Reading.AMOUNT,
            ),
        ),
        _contest,
    ),
)
