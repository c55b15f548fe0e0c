"""The streams on which contestants are compared."""

from __future__ import annotations

import random
from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple

import figures
from river import datasets
from river.datasets import synth
from river.datasets.base import SyntheticDataset

Examples = list[tuple[dict[Any, Any], Any]]

_DRIFT_EVENTS = 20_000


class Kind(Enum):
    """What the features are, which decides how a peer that does not find it out itself is set up."""

    TEXT = "text"
    """``{"text": "..."}``."""
    BINARY = "binary features"
    NUMBERS = "numbers"
    SEVERAL_CLASSES = "numbers, several classes"


class Stream(NamedTuple):
    """A stream, in one order or several, over which mistakes are averaged."""

    name: str
    kind: Kind
    orders: Callable[[Path], list[Examples]]
    to_reach: int
    """So many mistakes at most, with every label at once."""


def _raw(data: Path) -> list[Examples]:
    return [[({"text": text}, spam) for text, spam in figures.sms(data)]]


def _spambase(data: Path) -> list[Examples]:
    return [figures.spambase(data, seed) for seed in range(figures.SHUFFLES)]


def _svmguide3(data: Path) -> list[Examples]:
    examples: Examples = list(figures.svmguide3(data))  # the file is sorted by class
    random.Random(0).shuffle(examples)
    return [examples]


def _drift(before: SyntheticDataset, after: SyntheticDataset) -> list[Examples]:
    stream = synth.ConceptDriftStream(before, after, position=_DRIFT_EVENTS // 2, width=500, seed=1)
    return [[(x, bool(y)) for x, y in stream.take(_DRIFT_EVENTS)]]


def _sea(_: Path) -> list[Examples]:
    return _drift(synth.SEA(0, noise=0.1, seed=1), synth.SEA(3, noise=0.1, seed=2))


def _agrawal(_: Path) -> list[Examples]:
    return _drift(synth.Agrawal(0, seed=1), synth.Agrawal(4, seed=2))


STREAMS = (
    Stream("sms", Kind.TEXT, _raw, 75),
    Stream("sms-words", Kind.BINARY, lambda data: [figures.words(data)], 90),
    Stream("sms-characters", Kind.BINARY, lambda data: [figures.characters(data)], 87),
    Stream("a9a", Kind.BINARY, lambda data: [figures.a9a(data)], 5_035),
    Stream("spambase", Kind.NUMBERS, _spambase, 320),
    Stream("elec2", Kind.NUMBERS, lambda data: [figures.elec2(data)], 3_250),
    Stream("svmguide3", Kind.NUMBERS, _svmguide3, 230),
    Stream("sea", Kind.NUMBERS, _sea, 2_400),
    Stream("agrawal", Kind.NUMBERS, _agrawal, 1_400),
    Stream("segments", Kind.SEVERAL_CLASSES, lambda _: [list(datasets.ImageSegments())], 190),
)
