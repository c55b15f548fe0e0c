"""How well probabilities agree with frequencies. In: probabilities and what happened. Out: two figures."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from perceptron_core import AutoClassifier

from .report import progress, row, rule

if TYPE_CHECKING:
    from .streams import Stream

FORECASTS_FROM = 5_000
"""So many labels are learned before probabilities count."""
BINS = 10
_TIMES = {"a9a": 1, "elec2": 1, "sms": 3}
"""How often each stream is repeated."""
_MOST_ERROR = 0.02
_SMALLEST = 1e-12

Forecast = tuple[float, bool]


class Calibration(NamedTuple):
    """What forecasts of a class are worth."""

    error: float
    """Expected calibration error."""
    log_loss: float


def calibration(forecasts: Sequence[Forecast]) -> Calibration:
    """Compute the expected calibration error over ten bins of equal width, and the mean logistic loss.

    Each forecast is the probability of the positive class and whether it was that class. The error is the
    mean over all forecasts of the distance between mean probability and frequency in the forecast's bin.
    """
    bins: list[list[Forecast]] = [[] for _ in range(BINS)]
    for p, positive in forecasts:
        bins[min(int(p * BINS), BINS - 1)].append((p, positive))
    apart = sum(abs(sum(p for p, _ in each) - sum(y for _, y in each)) for each in bins)
    loss = sum(-math.log(max(p if y else 1 - p, _SMALLEST)) for p, y in forecasts)
    return Calibration(apart / len(forecasts), loss / len(forecasts))


def forecasts(model: AutoClassifier, examples: Iterable[tuple[Any, bool]]) -> list[Forecast]:
    """Return the probabilities of the positive class, each before its example was learned."""
    found: list[Forecast] = []
    for x, y in examples:
        found.append((model.predict_proba_one(x).get(True, 0.5), y))
        model.learn_one(x, y)
    return found


def table(data: Path, streams: Sequence[Stream], seed: int, *, quick: bool) -> None:
    """Print the calibration on a9a, elec2, and sms three times over."""
    titles = ("events", "ECE", "log loss", "at most", "verdict")
    rule(f"Calibration of auto after {FORECASTS_FROM:,} labels, {BINS} bins", titles)
    for stream in streams:
        if stream.name not in _TIMES:
            continue
        progress(f"{stream.name}: probabilities")
        examples = stream.orders(data)[0] * _TIMES[stream.name]
        examples = examples[: FORECASTS_FROM + 2_000] if quick else examples
        found = forecasts(AutoClassifier(seed=seed), examples)[FORECASTS_FROM:]
        error, loss = calibration(found)
        verdict = "reached" if error <= _MOST_ERROR else "NOT REACHED"
        times = _TIMES[stream.name]
        name = stream.name if times == 1 else f"{stream.name} × {times}"
        row(name, f"{len(found):,}", f"{error:.4f}", f"{loss:.4f}", f"{_MOST_ERROR}", verdict)
