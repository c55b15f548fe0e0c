"""The development streams of `AutoClassifier`: a change of it is kept if it errs less over all of them.

The list is frozen: a stream that is added or altered makes older figures incomparable. A stream is drawn from
seeds of its own or read from files, and has at most `MOST_EVENTS` events unless it is a file.
"""

from __future__ import annotations

import csv
import random
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

import figures
from river import datasets
from river.datasets import synth
from river.datasets.base import SyntheticDataset
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.utils import Bunch

from comparison.streams import Examples

MOST_EVENTS = 20_000
_FEW = 6_000
_SHORT = 10_000


class Development(NamedTuple):
    """A stream, and how late its labels come."""

    name: str
    examples: Callable[[Path], Examples]
    delay: int = 0
    """Events until a label comes."""


def _taken(stream: Iterable[tuple[Any, Any]], n: int = MOST_EVENTS) -> Examples:
    return [(x, y) for x, y in islice(stream, n)]


def _two(stream: Iterable[tuple[Any, Any]], n: int = MOST_EVENTS) -> Examples:
    """Take events whose labels 0 and 1 become False and True."""
    return [(x, bool(y)) for x, y in islice(stream, n)]


def _recurring(
    *concepts: Iterable[tuple[Any, Any]], each: int = _SHORT // 2, n: int = MOST_EVENTS
) -> Examples:
    """Take turns between concepts, each so many events at once."""
    streams = [iter(concept) for concept in concepts]
    turns = (_two(streams[turn % len(streams)], each) for turn in range(n // each))
    return [*chain.from_iterable(turns)]


def _drift(before: SyntheticDataset, after: SyntheticDataset, n: int = MOST_EVENTS) -> Examples:
    return _two(synth.ConceptDriftStream(before, after, position=n // 2, width=500, seed=1), n)


def _above(stream: Iterable[tuple[Any, float]], threshold: float, n: int = MOST_EVENTS) -> Examples:
    """Make a stream of regression one of two classes."""
    return [(x, y > threshold) for x, y in islice(stream, n)]


def _categories(stream: Iterable[tuple[Any, Any]], prefix: str, n: int = MOST_EVENTS) -> Examples:
    """Take events whose numbers of a prefix are the names of categories."""
    return [
        ({k: f"c{v}" if k.startswith(prefix) else v for k, v in x.items()}, bool(y))
        for x, y in islice(stream, n)
    ]


def _rows(loaded: Bunch, names: Iterable[str]) -> Examples:
    """Shuffle a set of scikit-learn."""
    columns = [*names]
    rows = [
        (dict(zip(columns, map(float, row), strict=True)), int(y))
        for row, y in zip(loaded.data, loaded.target, strict=True)
    ]
    random.Random(0).shuffle(rows)
    return rows


def _svmguide3(data: Path) -> Examples:
    examples: Examples = list(figures.svmguide3(data))
    random.Random(0).shuffle(examples)
    return examples


def _words_of_sentences(data: Path) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield words with their neighbours and parts of speech, and the kind of chunk that they are in."""
    path = data / "conll2000" / "train.txt"
    before = ("", "")
    with path.open(encoding="utf-8") as lines:
        for row in csv.reader(lines, delimiter=" ", quoting=csv.QUOTE_NONE):
            if not row:
                before = ("", "")
                continue
            word, tag, chunk = row
            yield {"tag": tag, "before": before[1], "end": word[-3:].lower()}, chunk.rpartition("-")[2]
            before = (word, tag)


def _chunks(data: Path) -> Examples:
    kinds = {"NP", "VP", "PP", "O"}
    return [(x, y if y in kinds else "other") for x, y in islice(_words_of_sentences(data), _SHORT)]


def _mixed_kinds(data: Path) -> Examples:
    """Make events of a text, two numbers and a category, of the SMS."""
    return [
        ({"text": text, "length": float(len(text)), "digits": float(sum(map(str.isdigit, text))),
          "ends": text[-1:] if text[-1:] in "?!." else "other"}, spam)
        for text, spam in figures.sms(data)
    ]  # fmt: skip


DEVELOPMENT = (
    Development("sms", lambda data: [({"text": text}, spam) for text, spam in figures.sms(data)]),
    Development("sms-words", lambda data: [*figures.words(data)]),
    Development("sms-mixed", _mixed_kinds),
    Development("chunks", _chunks),
    Development("a9a", lambda data: [*figures.a9a(data)][:MOST_EVENTS]),
    Development("spambase", lambda data: [*figures.spambase(data, 0)]),
    Development("elec2", lambda data: [*figures.elec2(data)]),
    Development("elec2-late", lambda data: [*figures.elec2(data)][:MOST_EVENTS], delay=500),
    Development("svmguide3", _svmguide3),
    Development("segments", lambda _: list(datasets.ImageSegments())),
    Development("bananas", lambda _: list(datasets.Bananas())),
    Development("phishing", lambda _: list(datasets.Phishing())),
    Development("breast-cancer", lambda _: _rows(c := load_breast_cancer(), c.feature_names)),
    Development("wine", lambda _: _rows(c := load_wine(), c.feature_names)),
    Development("digits", lambda _: _rows(c := load_digits(), c.feature_names)),
    Development("sea", lambda _: _drift(synth.SEA(0, noise=0.1, seed=1), synth.SEA(3, noise=0.1, seed=2))),
    Development("agrawal", lambda _: _drift(synth.Agrawal(0, seed=1), synth.Agrawal(4, seed=2))),
    Development(
        "agrabrupt",
        lambda _: _recurring(*(synth.Agrawal(k, seed=k + 1) for k in (1, 4, 6)), each=4_000),
    ),
    Development("agrawal-noise", lambda _: _two(synth.Agrawal(6, perturbation=0.2, seed=3), _SHORT)),
    Development("mv", lambda _: _above(synth.Mv(seed=1), -4.0)),
    Development("friedman", lambda _: _above(synth.Friedman(seed=1), 14.4, _SHORT)),
    Development(
        "friedman-drift",
        lambda _: _above(
            synth.FriedmanDrift(drift_type="gra", position=(5_000, 10_000), transition_window=500, seed=1),
            14.4,
        ),
    ),
    Development("planes", lambda _: _above(synth.Planes2D(seed=1), 0.0, _SHORT)),
    Development("random-tree", lambda _: _categories(synth.RandomTree(1, 1), "x_cat")),
    Development("random-tree-numbers", lambda _: _two(synth.RandomTree(2, 2, n_cat_features=0))),
    Development(
        "random-tree-classes", lambda _: _taken(synth.RandomTree(3, 3, n_classes=4, n_cat_features=2), _SHORT)
    ),
    Development(
        "sine",
        lambda _: _recurring(*(synth.Sine(k, seed=k + 1, has_noise=True) for k in range(4)), each=2_500),
    ),
    Development("rbf-5", lambda _: _taken(synth.RandomRBF(1, 1, n_classes=5), _FEW)),
    Development("rbf-2", lambda _: _two(synth.RandomRBF(2, 2), _FEW)),
    Development("rbf-drift", lambda _: _two(synth.RandomRBFDrift(3, 3, change_speed=0.001), _SHORT)),
    Development("hyperplane", lambda _: _two(synth.Hyperplane(seed=1, mag_change=0.001), _SHORT)),
    Development(
        "led", lambda _: _taken(synth.LED(seed=1, noise_percentage=0.1, irrelevant_features=True), _SHORT)
    ),
    Development("led-drift", lambda _: _taken(synth.LEDDrift(1, 0.1, True, 4), _FEW)),  # noqa: FBT003
    Development("waveform", lambda _: _taken(synth.Waveform(seed=1), _FEW)),
    Development(
        "stagger", lambda _: _recurring(*(synth.STAGGER(k, seed=k + 1) for k in range(3)), each=2_000)
    ),
    Development("mixed", lambda _: _recurring(*(synth.Mixed(k, seed=k + 1) for k in range(2)), each=5_000)),
    Development(
        "anomaly-sine", lambda _: _two(synth.AnomalySine(seed=1, n_samples=_SHORT, n_anomalies=2_500))
    ),
)
