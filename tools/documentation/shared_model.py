"""Mistakes against partitions, with one model and with a model each. Out: the chart for the guide."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from perceptron_core import AROW, Perceptron
from perceptron_core.base.binary import Features
from perceptron_core.sharing.mix import mix
from perceptron_core.sharing.shared_model import SharedModel
from tools.documentation.charts import Chart, Curve

_PARTITIONS: Final = (1, 2, 4, 8, 16)
_N_WORDS: Final = 400
_N_EVENTS: Final = 12_000
_ROUND_EVENTS: Final = 100
"""From one round to the next, over all partitions; it is applied one round later."""


def shared_model() -> Chart:
    """Return the error of two learners on words whose meaning drifts, by partitions."""
    stream = [*_drifting_words()]
    learners: dict[str, Callable[[], Any]] = {"Perceptron": Perceptron, "AROW": AROW}
    curves = []
    for name, make in learners.items():
        for how, shares in ((", a model each", False), (", one model", True)):
            points = [(float(n), _error(stream, make, n, shares=shares)) for n in _PARTITIONS]
            curves.append(Curve(name + how, points))
    return Chart("partitions", "error", curves, ratios=True)


def _error(
    stream: Sequence[tuple[Features, bool]], make: Callable[[], Any], n: int, *, shares: bool
) -> float:
    """Learn a stream whose events go to partitions at random; return the share of mistakes."""
    chance = random.Random(5)  # noqa: S311  made-up examples
    lanes = [SharedModel(make()) for _ in range(n)]
    contributions: list[bytes] = []
    wrong = 0
    for number, (x, y) in enumerate(stream):
        if shares and number % _ROUND_EVENTS == 0:
            if contributions:
                mixed = mix(contributions)
                for lane, own in zip(lanes, contributions, strict=True):
                    lane.apply(mixed, own)
            contributions = [lane.contribute() for lane in lanes]
        model = chance.choice(lanes).model
        wrong += model.predict_one(x) != y
        model.learn_one(x, y)
    return wrong / len(stream)


def _drifting_words() -> Iterator[tuple[Features, bool]]:
    """Make documents of six words or more; the class is the sign of what they mean, which changes."""
    chance = random.Random(11)  # noqa: S311  made-up examples
    shares = [1 / rank for rank in range(1, _N_WORDS + 1)]
    meaning = [chance.gauss(0, 1) for _ in range(_N_WORDS)]
    for _ in range(_N_EVENTS):
        words = sorted(set(chance.choices(range(_N_WORDS), shares, k=8)))
        if chance.random() < 1 / 40:
            meaning[chance.randrange(_N_WORDS)] = chance.gauss(0, 1)
        yield {f"w{word}": 1.0 for word in words}, sum(meaning[word] for word in words) > 0
