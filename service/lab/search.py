"""Draw parameters of a learner from the space that it declares."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from perceptron_core.base.search_space import Space, Span


def draw_trials(space: Space, count: int, seed: int) -> Iterator[dict[str, Any]]:
    """Yield the defaults, and then parameters drawn at random, `count` in all.

    References
    ----------
    Bergstra, J. and Bengio, Y. (2012). Random search for hyper-parameter optimization. Journal of Machine
    Learning Research 13.

    """
    rng = random.Random(seed)  # noqa: S311 - nothing secret
    yield {}
    for _ in range(count - 1):
        yield _draw(space, rng)


def _draw(space: Space, rng: random.Random) -> dict[str, Any]:
    return {
        name: float(f"{each.low * (each.high / each.low) ** rng.random():.3g}")
        if isinstance(each, Span)
        else rng.choice(each)
        for name, each in space.items()
    }
