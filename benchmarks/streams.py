"""The streams on which `AutoClassifier` is compared.

`DEVELOPMENT` is frozen: a stream that is added or altered makes older figures incomparable. A stream is drawn
from seeds of its own or read from files, and has at most `MAX_EVENTS` events unless it is a file.
"""

from __future__ import annotations

import csv
import random
from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from itertools import chain, islice
from pathlib import Path
from typing import Any, Final, NamedTuple

import data
from river import datasets
from river.datasets import synth
from river.datasets.base import SyntheticDataset
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.utils import Bunch

Examples = list[tuple[dict[Any, Any], Any]]

MAX_EVENTS = 20_000
_FEW = 6_000
_SHORT = 10_000
_SHUFFLES = 5


class Kind(Enum):
    """What the features are, which decides how a peer that does not find it out itself is set up."""

    TEXT = "text"
    """``{"text": "..."}``."""
    BINARY = "binary features"
    NUMBERS = "numbers"
    SEVERAL_CLASSES = "numbers, several classes"


class Stream(NamedTuple):
    """A stream alongside peers, in one order or several, over which mistakes are averaged."""

    kind: Kind
    orders: Callable[[Path], list[Examples]]


def _taken(stream: Iterable[tuple[Any, Any]], n: int = MAX_EVENTS) -> Examples:
    return [(x, y) for x, y in islice(stream, n)]


def _two(stream: Iterable[tuple[Any, Any]], n: int = MAX_EVENTS) -> Examples:
    """Take events whose labels 0 and 1 become False and True."""
    return [(x, bool(y)) for x, y in islice(stream, n)]


def _recurring(*concepts: Iterable[tuple[Any, Any]], each: int = _SHORT // 2) -> Examples:
    """Take turns between concepts, each so many events at once."""
    streams = [iter(concept) for concept in concepts]
    turns = (_two(streams[turn % len(streams)], each) for turn in range(MAX_EVENTS // each))
    return [*chain.from_iterable(turns)]


def _drift(before: SyntheticDataset, after: SyntheticDataset) -> Examples:
    return _two(synth.ConceptDriftStream(before, after, position=MAX_EVENTS // 2, width=500, seed=1))


def _above(stream: Iterable[tuple[Any, float]], threshold: float, n: int = MAX_EVENTS) -> Examples:
    """Make a stream of regression one of two classes."""
    return [(x, y > threshold) for x, y in islice(stream, n)]


def _categories(stream: Iterable[tuple[Any, Any]], prefix: str) -> Examples:
    """Take events whose numbers of a prefix are the names of categories."""
    return [
        ({k: f"c{v}" if k.startswith(prefix) else v for k, v in x.items()}, bool(y))
        for x, y in islice(stream, MAX_EVENTS)
    ]


def _shuffled(examples: Iterable[tuple[Any, Any]]) -> Examples:
    rows = list(examples)
    random.Random(0).shuffle(rows)
    return rows


def _rows(loaded: Bunch, names: Iterable[str]) -> Examples:
    """Shuffle a set of scikit-learn."""
    columns = [*names]
    return _shuffled(
        (dict(zip(columns, map(float, row), strict=True)), int(y))
        for row, y in zip(loaded.data, loaded.target, strict=True)
    )


def _words_of_sentences(folder: Path) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield words with their neighbours and parts of speech, and the kind of chunk that they are in."""
    before = ""
    with (folder / "conll2000" / "train.txt").open(encoding="utf-8") as lines:
        for row in csv.reader(lines, delimiter=" ", quoting=csv.QUOTE_NONE):
            if not row:
                before = ""
                continue
            word, tag, chunk = row
            yield {"tag": tag, "before": before, "end": word[-3:].lower()}, chunk.rpartition("-")[2]
            before = tag


def _chunks(folder: Path) -> Examples:
    kinds = {"NP", "VP", "PP", "O"}
    return [(x, y if y in kinds else "other") for x, y in islice(_words_of_sentences(folder), _SHORT)]


def _texts(folder: Path) -> Examples:
    return [({"text": text}, spam) for text, spam in data.sms(folder)]


def _mixed_kinds(folder: Path) -> Examples:
    """Make events of a text, two numbers and a category, of the SMS."""
    return [
        ({"text": text, "length": float(len(text)), "digits": float(sum(map(str.isdigit, text))),
          "ends": text[-1:] if text[-1:] in "?!." else "other"}, spam)
        for text, spam in data.sms(folder)
    ]  # fmt: skip


DELAYS: Final = {"elec2-late": 500}
"""Events until a label comes, where it comes late."""

DRIFTS: Final = {
    *("elec2", "elec2-late", "sea", "agrawal", "agrabrupt", "friedman-drift", "sine", "rbf-drift"),
    *("hyperplane", "led-drift", "stagger", "mixed"),
}
"""Streams with a drift: real prices in order of time, and generators whose classes change."""

DEVELOPMENT: Final[dict[str, Callable[[Path], Examples]]] = {
    "sms": _texts,
    "sms-words": lambda folder: [(data.words(text), spam) for text, spam in data.sms(folder)],
    "sms-mixed": _mixed_kinds,
    "chunks": _chunks,
    "a9a": lambda folder: [*data.a9a(folder)][:MAX_EVENTS],
    "spambase": lambda folder: [*data.spambase(folder, 0)],
    "elec2": lambda folder: [*data.elec2(folder)],
    "elec2-late": lambda folder: [*data.elec2(folder)][:MAX_EVENTS],
    "svmguide3": lambda folder: _shuffled(data.svmguide3(folder)),
    "segments": lambda _: list(datasets.ImageSegments()),
    "bananas": lambda _: list(datasets.Bananas()),
    "phishing": lambda _: list(datasets.Phishing()),
    "breast-cancer": lambda _: _rows(c := load_breast_cancer(), c.feature_names),
    "wine": lambda _: _rows(c := load_wine(), c.feature_names),
    "digits": lambda _: _rows(c := load_digits(), c.feature_names),
    "sea": lambda _: _drift(synth.SEA(0, noise=0.1, seed=1), synth.SEA(3, noise=0.1, seed=2)),
    "agrawal": lambda _: _drift(synth.Agrawal(0, seed=1), synth.Agrawal(4, seed=2)),
    "agrabrupt": lambda _: _recurring(*(synth.Agrawal(k, seed=k + 1) for k in (1, 4, 6)), each=4_000),
    "agrawal-noise": lambda _: _two(synth.Agrawal(6, perturbation=0.2, seed=3), _SHORT),
    "mv": lambda _: _above(synth.Mv(seed=1), -4.0),
    "friedman": lambda _: _above(synth.Friedman(seed=1), 14.4, _SHORT),
    "friedman-drift": lambda _: _above(synth.FriedmanDrift("gra", (5_000, 10_000), 500, seed=1), 14.4),
    "planes": lambda _: _above(synth.Planes2D(seed=1), 0.0, _SHORT),
    "random-tree": lambda _: _categories(synth.RandomTree(1, 1), "x_cat"),
    "random-tree-numbers": lambda _: _two(synth.RandomTree(2, 2, n_cat_features=0)),
    "random-tree-classes": lambda _: _taken(synth.RandomTree(3, 3, 4, n_cat_features=2), _SHORT),
    "sine": lambda _: _recurring(*(synth.Sine(k, seed=k + 1, has_noise=True) for k in range(4)), each=2_500),
    "rbf-5": lambda _: _taken(synth.RandomRBF(1, 1, n_classes=5), _FEW),
    "rbf-2": lambda _: _two(synth.RandomRBF(2, 2), _FEW),
    "rbf-drift": lambda _: _two(synth.RandomRBFDrift(3, 3, change_speed=0.001), _SHORT),
    "hyperplane": lambda _: _two(synth.Hyperplane(seed=1, mag_change=0.001), _SHORT),
    "led": lambda _: _taken(synth.LED(1, 0.1, irrelevant_features=True), _SHORT),
    "led-drift": lambda _: _taken(synth.LEDDrift(1, 0.1, True, 4), _FEW),  # noqa: FBT003
    "waveform": lambda _: _taken(synth.Waveform(seed=1), _FEW),
    "stagger": lambda _: _recurring(*(synth.STAGGER(k, seed=k + 1) for k in range(3)), each=2_000),
    "mixed": lambda _: _recurring(*(synth.Mixed(k, seed=k + 1) for k in range(2)), each=5_000),
    "anomaly-sine": lambda _: _two(synth.AnomalySine(seed=1, n_samples=_SHORT, n_anomalies=2_500)),
}


def _one_order(name: str) -> Callable[[Path], list[Examples]]:
    return lambda folder: [DEVELOPMENT[name](folder)]


STREAMS: Final = {
    "sms": Stream(Kind.TEXT, _one_order("sms")),
    "sms-words": Stream(Kind.BINARY, _one_order("sms-words")),
    "sms-characters": Stream(
        Kind.BINARY, lambda folder: [[(data.character_4grams(text), y) for text, y in data.sms(folder)]]
    ),
    "a9a": Stream(Kind.BINARY, lambda folder: [data.a9a(folder)]),
    "spambase": Stream(Kind.NUMBERS, lambda folder: [data.spambase(folder, k) for k in range(_SHUFFLES)]),
    "elec2": Stream(Kind.NUMBERS, _one_order("elec2")),
    "svmguide3": Stream(Kind.NUMBERS, _one_order("svmguide3")),
    "sea": Stream(Kind.NUMBERS, _one_order("sea")),
    "agrawal": Stream(Kind.NUMBERS, _one_order("agrawal")),
    "segments": Stream(Kind.SEVERAL_CLASSES, _one_order("segments")),
}
