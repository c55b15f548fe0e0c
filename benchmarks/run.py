"""Speed, as ratios against a peer in the same run: `make bench`.

Each figure is the median over rounds; in a round ours and the peer run one after the other, so that
a machine that speeds up or slows down does so for both.
"""

from __future__ import annotations

import random
import statistics
from collections.abc import Callable, Sequence
from time import perf_counter

from river import linear_model

from perceptron_core import Perceptron

ROUNDS = 7
Example = tuple[dict[str, float], bool]


def dense(features: int, events: int = 4000) -> Sequence[Example]:
    """Make Gaussian examples with a linear truth and some noise."""
    rng = random.Random(features)
    truth = [rng.gauss(0, 1) for _ in range(features)]
    made = []
    for _ in range(events):
        values = [rng.gauss(0, 1) for _ in range(features)]
        score = sum(t * v for t, v in zip(truth, values, strict=True)) + rng.gauss(0, 1)
        made.append(({f"f{i}": value for i, value in enumerate(values)}, score > 0))
    return made


def words(events: int = 4000) -> Sequence[Example]:
    """Make short texts as binary bags of words, with the word frequencies of Zipf's law."""
    rng = random.Random(1)
    vocabulary = [f"w{i}" for i in range(8000)]
    weights = [1 / (rank + 1) for rank in range(len(vocabulary))]
    made = []
    for _ in range(events):
        label = rng.random() < 0.13
        bag = rng.choices(vocabulary, weights, k=14) + (["prize"] if label and rng.random() < 0.8 else [])
        made.append((dict.fromkeys(bag, 1.0), label))
    return made


def rate(make: Callable[[], object], stream: Sequence[Example]) -> float:
    """Measure events per second of predict_one + learn_one over a stream, from a fresh model."""
    model = make()
    predict, learn = model.predict_one, model.learn_one
    began = perf_counter()
    for x, y in stream:
        predict(x)
        learn(x, y)
    return len(stream) / (perf_counter() - began)


def compare(name: str, stream: Sequence[Example]) -> None:
    """Print one row: ours, River's, and the ratio with its spread."""
    pairs = [(rate(Perceptron, stream), rate(linear_model.Perceptron, stream)) for _ in range(ROUNDS)]
    ours, peer = (statistics.median(column) for column in zip(*pairs, strict=True))
    ratios = sorted(a / b for a, b in pairs)
    print(
        f"{name:<28}{ours:>12,.0f}{peer:>12,.0f}{statistics.median(ratios):>8.2f}"
        f"   {ratios[0]:.2f}-{ratios[-1]:.2f}"
    )


def main() -> None:
    """Print the table."""
    print(f"{'predict_one + learn_one':<28}{'ours/s':>12}{'River/s':>12}{'ratio':>8}   spread")
    compare("20 dense features", dense(20))
    compare("100 dense features", dense(100))
    compare("words, about 14 a text", words())


if __name__ == "__main__":
    main()
