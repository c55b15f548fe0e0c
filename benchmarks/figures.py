"""Mistakes of the two-class learners on real streams, and what their references give.

    python benchmarks/figures.py [DATA]

One pass everywhere: predict, then learn. DATA is a folder like ../shared/data (see the README there). The
best of River on the same streams: `auto.py mistakes`.
"""

from __future__ import annotations

import random
import statistics
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import data
from baselines import singles
from prequential import judged
from river import linear_model, preprocessing
from streams import Kind

from perceptron_core import AROW, PassiveAggressive, Perceptron

PERMUTATIONS = 20
SHUFFLES = 5
_LIBOL: tuple[tuple[str, Callable[[], Any], float], ...] = (
    (
        "Perceptron(update_on_tie=False)",
        lambda: Perceptron(tie=True, update_on_tie=False, fit_intercept=False),
        0.332,
    ),
    ('PassiveAggressive(variant="PA")', lambda: PassiveAggressive(variant="PA", fit_intercept=False), 0.318),
    ("PassiveAggressive(C=0.1)", lambda: PassiveAggressive(C=0.1, fit_intercept=False), 0.236),
    ("AROW()", lambda: AROW(fit_intercept=False), 0.222),
    ("AROW(r=0.5, full=True)", lambda: AROW(r=0.5, full=True, fit_intercept=False), 0.222),
)
"""Error rates on svmguide3 by LIBOL's protocol: no bias, a ≥ 0 → +1, 20 permutations."""


def standardised(stream: data.Stream) -> data.Stream:
    """Standardise as a stream is: each example by those up to it."""
    scaler, scaled = preprocessing.StandardScaler(), []
    for x, y in stream:
        scaler.learn_one(x)
        scaled.append((scaler.transform_one(x), y))
    return scaled


def mistakes(model: Any, stream: data.Stream) -> int:  # noqa: ANN401 - a learner
    """Predict, then learn, and count what was wrong."""
    return sum(judged(model, stream, has_probabilities=False).wrongs)


def permuted_error_rates(make: Callable[[], Any], stream: data.Stream) -> Iterator[float]:
    """Yield the error rate over each permutation."""
    for seed in range(PERMUTATIONS):
        model, order, wrong = make(), list(stream), 0
        random.Random(seed).shuffle(order)
        for x, y in order:
            wrong += (model.score_one(x) >= 0) != y
            model.learn_one(x, y)
        yield wrong / len(order)


def main() -> None:
    """Print every figure."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else data.DATA
    words, a9a, elec2 = data.words(folder), data.a9a(folder), data.elec2(folder)
    for name, stream, expected in (("SMS words", words, "171 / 207"), ("a9a", a9a, "6,577 / 6,948")):
        model = Perceptron()
        found = f"{mistakes(model, stream):,} / {model.n_updates:,}"
        print(f"{name}: Perceptron(), mistakes / updates {found}, reference {expected}")
    svmguide3 = data.svmguide3(folder)
    for name, make, reference in _LIBOL:
        rates = list(permuted_error_rates(make, svmguide3))
        mean, deviation = statistics.mean(rates), statistics.stdev(rates)
        print(f"svmguide3: {name:<40}{mean:.3f} ± {deviation:.3f}, reference {reference:.3f}", flush=True)
    shuffles = [data.spambase(folder, seed) for seed in range(SHUFFLES)]
    streams = {
        "SMS words": [words],
        "SMS characters": [data.characters(folder)],
        "a9a": [a9a],
        "spambase": shuffles,
        "elec2": [elec2],
        "spambase standardised": [standardised(each) for each in shuffles],
        "elec2 standardised": [standardised(elec2)],
    }
    learners = singles(Kind.BINARY) | {
        "AROW(r=0.1)": lambda: AROW(r=0.1),
        "River Perceptron": linear_model.Perceptron,
        "River PA": linear_model.PAClassifier,
        "River logistic": linear_model.LogisticRegression,
    }
    print(f"\n{'':<32}" + "".join(f"{name:>24}" for name in streams))
    for name, make in learners.items():
        means = (statistics.mean(mistakes(make(), each) for each in orders) for orders in streams.values())
        print(f"{name:<32}" + "".join(f"{each:>24,.6g}" for each in means), flush=True)


if __name__ == "__main__":
    main()
