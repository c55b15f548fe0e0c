"""Mistakes, log loss and time of `AutoClassifier` on the development streams, beside figures saved before."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from comparison.development import DEVELOPMENT, Development
from comparison.prequential import judged
from comparison.report import progress_done
from perceptron_core import AutoClassifier
from perceptron_core.elementary import exp, log

BASE = Path(__file__).parents[1] / "results" / "auto.json"
"""Figures of the release before; `--save` writes others."""

Figures = Mapping[str, float]


def measured(stream: Development, model: AutoClassifier, data: Path) -> dict[str, float]:
    """Return mistakes, log loss per event and microseconds per event, predicted and learned."""
    found = judged(model, stream.examples(data), stream.delay)
    n = len(found.wrongs)
    return {
        "events": n,
        "mistakes": sum(found.wrongs),
        "log_loss": sum(found.losses) / n,
        "microseconds": found.microseconds,
    }


def compared(
    data: Path, names: Iterable[str], make: Callable[[], AutoClassifier], base: Path, save: Path | None
) -> None:
    """Print the figures of each stream beside those of `base`, and the geometric means of the ratios."""
    wanted = {*names}
    known: dict[str, Figures] = json.loads(base.read_text()) if base.exists() else {}
    found: dict[str, dict[str, float]] = {}
    ratios: list[tuple[float, float, float]] = []
    print(
        f"{'stream':<20}{'events':>8}{'base':>8}{'mistakes':>10}{'ratio':>7}"
        f"{'log loss':>10}{'ratio':>7}{'µs':>7}"
    )
    for stream in DEVELOPMENT:
        if wanted and stream.name not in wanted:
            continue
        now = found[stream.name] = measured(stream, make(), data)
        before = known.get(stream.name, now)
        ratios.append((
            (now["mistakes"] + 1) / (before["mistakes"] + 1),
            now["log_loss"] / before["log_loss"],
            now["microseconds"] / before["microseconds"],
        ))  # fmt: skip
        print(
            f"{stream.name:<20}{now['events']:8.0f}{before['mistakes']:8.0f}{now['mistakes']:10.0f}"
            f"{ratios[-1][0]:7.3f}{now['log_loss']:10.4f}{ratios[-1][1]:7.3f}{now['microseconds']:7.1f}",
            flush=True,
        )
    means = [exp(sum(map(log, column)) / len(ratios)) for column in zip(*ratios, strict=True)]
    print(
        "geometric mean of {} streams: mistakes ×{:.4f}, log loss ×{:.4f}, time ×{:.3f}".format(
            len(ratios), *means
        )
    )
    if save:
        save.write_text(json.dumps(found, indent=1) + "\n")
    progress_done()
