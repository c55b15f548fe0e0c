"""One prequential pass: predict each event, learn it when its label comes."""

from __future__ import annotations

import json
import sys
from collections import deque
from collections.abc import Callable, Iterable
from math import inf, log  # noqa: TID251 - reported to four digits, also where perceptron_core is not installed
from time import process_time
from typing import Any, NamedTuple

_LEAST = 1e-6
"""Probability of the truth, at least: so one event cannot decide about the log loss."""


class Judged(NamedTuple):
    """What one pass found."""

    wrongs: list[bool]
    """Of each event that it came to."""
    losses: list[float]
    """-ln of the probability of the truth; ln 2 where it gives none, before anything was learned."""
    microseconds: float
    """Processor time of the process per event, predicted and learned."""


class Condition(NamedTuple):
    """When labels come, how many of them, and how long a model may take."""

    delay: int = 0
    """So many events are predicted between an event and its label."""
    patience: float = inf
    """Seconds of processor time after which a model is stopped."""


ANYWAY = Condition()
"""Each label comes at once, and no model is stopped."""


def judged(
    model: Any,  # noqa: ANN401 - of this package, of River or of another
    examples: Iterable[tuple[Any, Any]],
    condition: Condition = ANYWAY,
    *,
    has_probabilities: bool = True,
) -> Judged:
    """Predict each event and learn it when its label comes; without probabilities, there are no losses.

    No prediction, before anything was learned, counts as False, as learners of two classes predict.
    """
    waiting: deque[tuple[Any, ...]] = deque()
    found, start = Judged([], [], 0.0), process_time()
    for x, y in examples:
        if has_probabilities:
            chances = model.predict_proba_one(x)
            predicted = max(chances, key=chances.__getitem__) if chances else None
            found.losses.append(-log(max(chances.get(y, 0.0), _LEAST)) if chances else log(2))
        else:
            predicted = model.predict_one(x)
        found.wrongs.append(bool((False if predicted is None else predicted) != y))
        told = (
            (1.0, model.prediction_context())
            if condition.delay and hasattr(model, "prediction_context")
            else ()
        )
        waiting.append((x, y, *told))
        if len(waiting) > condition.delay:
            model.learn_one(*waiting.popleft())
        if process_time() - start > condition.patience:
            break
    return found._replace(microseconds=(process_time() - start) / len(found.wrongs) * 1e6)


def judge_stdin(make: Callable[[Any], Any]) -> None:
    """Judge the model that is made for the examples in stdin, as anchors.py writes them; print the result."""
    given = json.load(sys.stdin)
    condition = Condition(given["delay"], given["patience"])
    print(json.dumps(judged(make(given["examples"]), given["examples"], condition)))
