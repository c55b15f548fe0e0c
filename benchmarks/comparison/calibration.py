"""Measure how well the probabilities of `auto` agree with frequencies."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from service.models.registry import make_learner
from service.partition.counts.calibration import BINS, Calibration

from .report import progress, row, rule

if TYPE_CHECKING:
    from .streams import Stream

FORECASTS_FROM = 5_000
"""So many labels are learned before probabilities count."""
_TIMES = {"a9a": 1, "elec2": 1, "sms": 3}
"""How often each stream is repeated."""
_MOST_ERROR = 0.02


def calibration(seed: int, examples: Iterable[tuple[Any, bool]]) -> Calibration:
    """Judge the probabilities of `auto`, each before its example was learned, as `replay` judges them."""
    learner, judged = make_learner("auto", {"seed": seed}), Calibration()
    for number, (x, y) in enumerate(examples):
        predicted, log_odds, _ = learner.predict_learn(x, y)
        if number >= FORECASTS_FROM:
            judged.add(log_odds if predicted else -log_odds, correct=predicted == y)
    return judged


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
        found = calibration(seed, examples)
        error, loss = found.expected_calibration_error() or 0.0, found.log_loss() or 0.0
        verdict = "reached" if error <= _MOST_ERROR else "NOT REACHED"
        times = _TIMES[stream.name]
        name = stream.name if times == 1 else f"{stream.name} × {times}"
        row(name, f"{found.count:,}", f"{error:.4f}", f"{loss:.4f}", f"{_MOST_ERROR}", verdict)
