"""The array path: hashed indices and values, whole micro-batches, still one event after the other."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from .array_path import hashed_perceptron, predict_and_learn
from .base import Contest, Goal, Measure, Reading, Row
from .clock import rate

_NONZERO = 15
_BATCH = 1000
_BATCHES, _QUICK_BATCHES = 500, 100
_NOISE = 0.1

Draw = Callable[[np.random.Generator, tuple[int, int]], npt.NDArray[np.int32]]
"""Draws so many rows of so many indices."""


@dataclass(slots=True)
class _Rows:
    indptr: npt.NDArray[np.int64]
    indices: npt.NDArray[np.int32]
    values: npt.NDArray[np.float64]


def _uniform(bits: int) -> Draw:
    return lambda rng, shape: rng.integers(0, 1 << bits, shape, dtype=np.int32)


def _zipf(bits: int) -> Draw:
    """Draw the index of rank r with a probability in proportion to 1/r; ranks lie about as hashes do."""
    upto = np.cumsum(1 / np.arange(1, (1 << bits) + 1))
    index_of = np.random.default_rng(bits).permutation(1 << bits).astype(np.int32)
    return lambda rng, shape: index_of[np.searchsorted(upto, rng.random(shape) * upto[-1])]


def _distinct(draw: Draw, rng: np.random.Generator) -> npt.NDArray[np.int32]:
    """Draw the rows of a batch, those in which an index occurs twice once more."""
    indices = draw(rng, (_BATCH, _NONZERO))
    while (again := (np.diff(np.sort(indices)) == 0).any(axis=1)).any():
        indices[again] = draw(rng, (again.sum(), _NONZERO))
    return indices


def _batch(
    draw: Draw, rng: np.random.Generator, truth: npt.NDArray[np.float64]
) -> tuple[_Rows, npt.NDArray[np.bool_]]:
    indices = _distinct(draw, rng)
    values = rng.normal(size=indices.shape)
    labels = (values * truth[indices]).sum(axis=1) + rng.normal(scale=_NOISE, size=_BATCH) > 0
    indptr = np.arange(_BATCH + 1, dtype=np.int64) * _NONZERO
    return _Rows(indptr, indices.ravel(), values.ravel()), labels


def _rate(bits: int, batches: Sequence[tuple[_Rows, npt.NDArray[np.bool_]]]) -> Sequence[float]:
    def once() -> None:
        model = hashed_perceptron(bits)
        for rows, labels in batches:
            predict_and_learn(model, rows, labels)

    return (rate(once, len(batches) * _BATCH) / 1e6,)


@contextlib.contextmanager
def _contest(law: Callable[[int], Draw], bits: int, quick: bool) -> Iterator[Contest]:  # noqa: FBT001 - what `Measure.prepare` is called with
    rng = np.random.default_rng(1)
    truth, draw = rng.normal(size=1 << bits), law(bits)
    batches = [_batch(draw, rng, truth) for _ in range(_QUICK_BATCHES if quick else _BATCHES)]
    yield Contest(lambda: _rate(bits, batches))


def _measure(name: str, law: Callable[[int], Draw], spelled: str, bits: int) -> Measure:
    row = Row(
        name,
        f"Array path, Perceptron, {_NONZERO} non-zeros per event, {spelled}, 2^{bits} weights",
        "M events/s",
        Goal(5, "M events/s"),
        f"Batches of {_BATCH} rows of distinct indices below 2^{bits}, drawn {spelled}, with a linear "
        "truth; predict and learn, one thread.",
        Reading.AMOUNT,
    )
    return Measure(name, (row,), partial(_contest, law, bits))


MEASURES = (
    _measure("arrays", _uniform, "uniformly", 18),
    _measure("arrays-zipf", _zipf, "by Zipf's law", 22),
)
