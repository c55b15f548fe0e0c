"""Mistakes of the two-class learners on real streams.

    python benchmarks/figures.py

One pass everywhere: predict, then learn. The best of River on the same streams: `auto.py mistakes`.
"""

from __future__ import annotations

import statistics
from typing import Any

import data
from baselines import singles
from prequential import judged
from river import preprocessing
from streams import Kind

from perceptron_core import AROW

SHUFFLES = 5


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


def main() -> None:
    """Print every figure."""
    words, a9a, elec2 = data.words(), data.a9a(), data.elec2()
    shuffles = [data.spambase(seed=seed) for seed in range(SHUFFLES)]
    streams = {
        "SMS words": [words],
        "SMS characters": [data.characters()],
        "a9a": [a9a],
        "spambase": shuffles,
        "elec2": [elec2],
        "spambase standardised": [standardised(shuffle) for shuffle in shuffles],
        "elec2 standardised": [standardised(elec2)],
    }
    learners = singles(Kind.BINARY) | {"AROW(r=0.1)": lambda: AROW(r=0.1)}
    print(f"\n{'':<32}" + "".join(f"{name:>24}" for name in streams))
    for name, make in learners.items():
        means = (statistics.mean(mistakes(make(), order) for order in orders) for orders in streams.values())
        print(f"{name:<32}" + "".join(f"{mean:>24,.6g}" for mean in means), flush=True)


if __name__ == "__main__":
    main()
