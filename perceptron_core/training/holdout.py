"""Split off a hold-out set, and measure a model's error rate."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

from perceptron_core.theory.geometry import Examples
from perceptron_core.training.rng import seeded_generator
from perceptron_core.validation import sign_of

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Assessment:
    """What `perceptron_test` found."""

    predictions: tuple[Any, ...]
    mistakes: int

    @property
    def error(self) -> float:
        """Share of wrong predictions; nan for no examples."""
        return self.mistakes / len(self.predictions) if self.predictions else math.nan


def perceptron_test(model: Any, examples: Examples) -> Assessment:
    """Predict labelled examples without learning from them: PerceptronTest.

    Parameters
    ----------
    model
        Whatever has `predict_one`.
    examples
        Features and labels.

    References
    ----------
    Daumé III, H. (2017). A Course in Machine Learning, algorithm 6.

    Examples
    --------
    >>> from perceptron_core import Hyperplane, perceptron_test
    >>> perceptron_test(Hyperplane({"x": 1.0}), [({"x": 3.0}, True), ({"x": 2.0}, False)])
    Assessment(predictions=(True, True), mistakes=1)

    """
    predictions, mistakes = [], 0
    for x, y in examples:
        predicted = model.predict_one(x)
        mistakes += predicted != (sign_of(y) > 0 if isinstance(predicted, bool) else y)
        predictions.append(predicted)
    return Assessment(tuple(predictions), mistakes)


def hold_out(examples: Iterable[T], ratio: float, seed: int = 0) -> tuple[list[T], list[T]]:
    """Split examples at random into those to learn from and those held out, both in their own order.

    Parameters
    ----------
    examples
        Features and labels, or whatever the examples are.
    ratio
        Share to hold out, between 0 and 1; at least one example stays on either side.
    seed
        Of the draw.

    Raises
    ------
    ValueError
        `ratio` is not between 0 and 1, or there are fewer than two examples.

    Examples
    --------
    >>> from perceptron_core import hold_out
    >>> training, held_out = hold_out([({"x": n}, n > 5) for n in range(10)], ratio=0.2)
    >>> len(training), len(held_out)
    (8, 2)

    """
    data = list(examples)
    if not 0 < ratio < 1:
        raise ValueError(f"the ratio to hold out must lie between 0 and 1, not be {ratio!r}")
    if len(data) < 2:  # noqa: PLR2004  one on either side
        raise ValueError(f"{len(data)} examples are too few to hold some out")
    n_held_out = min(max(1, round(ratio * len(data))), len(data) - 1)
    chosen = set(seeded_generator(seed).permutation(len(data))[:n_held_out].tolist())
    return (
        [example for number, example in enumerate(data) if number not in chosen],
        [example for number, example in enumerate(data) if number in chosen],
    )
