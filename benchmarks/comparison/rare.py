"""Rank the events of streams in which the positive class is rare.

Positive events are left out, drawn with a seed, until they are so many of a hundred; the others keep their
order. Figures are means over three draws. What one learner of `auto` would have reached alone is read from
what `said` wrote down, in the same run.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from statistics import fmean
from time import process_time
from typing import Any, NamedTuple

import figures
from river.datasets import synth

from perceptron_core import AutoClassifier
from perceptron_core.auto.said import HEADER
from service.lab.score_curve import ScoreCurve

from .contestants import river
from .report import note, progress, row, rule
from .streams import Examples, Kind

_SHARES = (0.005, 0.01, 0.03)
_DRAWS = 3
_PRECISION = 0.9
_GENERATED = 20_000


class _Source(NamedTuple):
    name: str
    kind: Kind
    examples: Callable[[Path], Examples]


def _generated(events: Any) -> Examples:  # noqa: ANN401 - of River, untyped
    return [(x, bool(y)) for x, y in islice(events, _GENERATED)]


_SOURCES = (
    _Source("sms", Kind.TEXT, lambda data: [({"text": text}, spam) for text, spam in figures.sms(data)]),
    _Source("a9a", Kind.BINARY, lambda data: [*figures.a9a(data)]),
    _Source("spambase", Kind.NUMBERS, lambda data: [*figures.spambase(data, 0)]),
    _Source("elec2", Kind.NUMBERS, lambda data: [*figures.elec2(data)]),
    _Source(
        "rbf",
        Kind.NUMBERS,
        lambda _: _generated(synth.RandomRBF(7, 7, n_features=10, n_centroids=50)),
    ),
    _Source("agrawal", Kind.NUMBERS, lambda _: _generated(synth.Agrawal(6, perturbation=0.1, seed=9))),
)


class Ranked(NamedTuple):
    """How well scores rank events."""

    average_precision: float
    recall: float
    """At a precision of 0.9."""


def thinned(examples: Sequence[tuple[Any, bool]], share: float, seed: int) -> Examples:
    """Leave positive events out until they are this share."""
    positives = [number for number, (_, y) in enumerate(examples) if y]
    n = round(share * (len(examples) - len(positives)) / (1 - share))
    kept = {*random.Random(seed).sample(positives, min(n, len(positives)))}
    return [each for number, each in enumerate(examples) if not each[1] or number in kept]


def ranked(scores: Sequence[float], truths: Sequence[bool]) -> Ranked:
    """Judge scores of events of both classes."""
    pairs = [*zip(scores, truths, strict=True)]
    curve = ScoreCurve.of((score for score, y in pairs if y), (score for score, y in pairs if not y))
    return Ranked(curve.average_precision(), curve.recall_at(_PRECISION)) if curve else Ranked(0.0, 0.0)


def learners_of(seed: int, examples: Examples) -> dict[str, Ranked]:
    """Judge `auto`, and each of its learners: 0 where it says nothing of an event."""
    model = AutoClassifier(classes=[False, True], seed=seed)
    scores: list[float] = []
    said: list[tuple[float, ...]] = []
    for x, y in examples:
        scores.append(model.score_one(x))
        numbers = struct.unpack(f"{len(model.said()) // 8}d", model.said())
        said.append(numbers[HEADER : HEADER + int(numbers[1])] if numbers else ())
        model.learn_one(x, y)
    truths = [y for _, y in examples]
    found = {"auto": ranked(scores, truths)}
    for k, expert in enumerate(model.experts):
        found[expert.name] = ranked([each[k] if k < len(each) else 0.0 for each in said], truths)
    return found


def _rivals(kind: Kind, examples: Examples, patience_seconds: float) -> Iterator[tuple[str, Ranked]]:
    """Judge River's classifiers that give probabilities, but for those that patience ends for."""
    truths = [y for _, y in examples]
    for name, make in river(kind).items():
        try:
            scores = _scores(make(), examples, patience_seconds)
        except NotImplementedError:
            continue
        if len(scores) == len(examples):
            yield name, ranked(scores, truths)


def _scores(model: Any, examples: Examples, patience_seconds: float) -> list[float]:  # noqa: ANN401 - River's
    scores, end = [], process_time() + patience_seconds
    for x, y in examples:
        scores.append(model.predict_proba_one(x).get(True, 0.0))
        model.learn_one(x, y)
        if process_time() > end:
            break
    return scores


def table(data: Path, names: Sequence[str], seed: int, patience_seconds: float) -> None:
    """Print average precision and recall of `auto`, of the best of its learners, and of the best rival."""
    titles = ("positives", "auto", "best of its own", "best of River", "recall", "own", "River", "verdict")
    rule(
        f"Average precision, and recall at a precision of {_PRECISION}; means of {_DRAWS} draws",
        titles,
        (9, 7, 45, 45, 7, 7, 7, 12),
    )
    for source in _SOURCES:
        if names and source.name not in names:
            continue
        examples = source.examples(data)
        for share in _SHARES:
            _row(source, share, examples, seed, patience_seconds)
    note("River: of those that give probabilities and came to the end within --patience on each draw")


def _row(source: _Source, share: float, examples: Examples, seed: int, patience_seconds: float) -> None:
    own: dict[str, list[Ranked]] = {}
    others: dict[str, list[Ranked]] = {}
    for draw in range(_DRAWS):
        progress(f"{source.name}: {share:.1%} positive, draw {draw + 1}")
        drawn = thinned(examples, share, draw)
        for name, found in learners_of(seed, drawn).items():
            own.setdefault(name, []).append(found)
        for name, found in _rivals(source.kind, drawn, patience_seconds):
            others.setdefault(name, []).append(found)
    auto = _mean(own.pop("auto"))
    single, mine = _best(own)
    rival, theirs = _best({name: runs for name, runs in others.items() if len(runs) == _DRAWS})
    row(
        f"{source.name} {share:.1%}",
        f"{sum(y for _, y in drawn):,}",
        f"{auto.average_precision:.4f}",
        f"{mine.average_precision:.4f} {single}"[:45],
        f"{theirs.average_precision:.4f} {rival}"[:45],
        *(f"{each.recall:.3f}" for each in (auto, mine, theirs)),
        "reached" if auto.average_precision >= mine.average_precision else "NOT REACHED",
    )


def _mean(runs: Sequence[Ranked]) -> Ranked:
    return Ranked(*map(fmean, zip(*runs, strict=True)))


def _best(runs: dict[str, list[Ranked]]) -> tuple[str, Ranked]:
    """Return the one with the highest average precision; its recall need not be the highest."""
    means = {name: _mean(each) for name, each in runs.items()}
    return max(means.items(), key=lambda each: each[1].average_precision, default=("–", Ranked(0.0, 0.0)))
