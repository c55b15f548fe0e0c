"""Mistakes, log loss and time of `AutoClassifier` and its competitors in the same run.

    python benchmarks/auto.py all [--seed N] [--effort low] [--save FILE]
    python benchmarks/auto.py mistakes [--delay N]
    python benchmarks/auto.py anchors [--python PYTHON ...] [--save FILE]

One configuration for all streams: ``AutoClassifier()``. Tables go to stdout, progress to stderr; --only names
streams. What is slower than --patience is stopped, and compared over the events it came to.

`all` compares with the release before: mistakes, log loss, time and bytes of a snapshot on each of the
development streams, a frozen list (streams.py), alongside the figures saved in results/auto.json, and the
geometric means of the ratios. A change of `AutoClassifier` is kept if that of the mistakes falls, and no
stream is worse by more than 2 %.

`mistakes` has the best of our single learners with fixed parameters, and of River's classifiers with its
defaults (baselines.py). "Best" is the one with the fewest mistakes on that stream, chosen afterwards.

`anchors` runs the ensembles of others, each in an environment of its own (anchors.py). Figures are kept after
each learner in results/anchors.jsonl or --save FILE; of the others, what is there is not measured again.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from math import exp, log  # noqa: TID251 - of ratios that are printed
from pathlib import Path
from statistics import fmean

import data
from anchors import RESULTS, anchors
from baselines import Makers, river, singles
from prequential import Condition, judged
from streams import DELAYS, DEVELOPMENT, STREAMS, Stream

from perceptron_core import AutoClassifier, to_bytes

BASE = Path(__file__).parent / "results" / "auto.json"
"""Figures of the release before; `--save` writes others."""
_FIGURES = ("mistakes", "log_loss", "microseconds")
_PATIENCE_SECONDS = 180.0

Runs = list[list[bool]]
"""For each order of a stream, whether each prediction was wrong."""


def all_streams(given: argparse.Namespace) -> None:
    """Print the figures of each development stream alongside the saved ones."""
    known: Mapping[str, Mapping[str, float]] = json.loads(BASE.read_text())
    found: dict[str, dict[str, float]] = {}
    ratios: list[list[float]] = []
    print(f"{'stream':<20}  events    base  mistakes  log loss     µs       bytes  ratios")
    for name, examples in DEVELOPMENT.items():
        if given.only and name not in given.only:
            continue
        model = AutoClassifier(seed=given.seed, effort=given.effort)
        run = judged(model, examples(given.data), Condition(DELAYS.get(name, 0)))
        n = len(run.wrongs)
        figures = (sum(run.wrongs), sum(run.losses) / n, run.microseconds)
        now = found[name] = {"events": n, **dict(zip(_FIGURES, figures, strict=True))}
        before = known.get(name, now)
        ratios.append([(now[each] + (k == 0)) / (before[each] + (k == 0)) for k, each in enumerate(_FIGURES)])
        print(
            f"{name:<20}{n:>8}{before['mistakes']:>8.0f}{now['mistakes']:>10.0f}{now['log_loss']:>10.4f}"
            f"{now['microseconds']:>7.1f}{len(to_bytes(model)):>12,}  "
            + " ".join(f"{r:.3f}" for r in ratios[-1]),
            flush=True,
        )
    means = [exp(fmean(map(log, column))) for column in zip(*ratios, strict=True)]
    print("geometric means: mistakes ×{:.4f}, log loss ×{:.4f}, time ×{:.3f}".format(*means))
    if given.save:
        given.save.write_text(json.dumps(found, indent=1) + "\n")


def ratio(theirs: Runs, auto: Runs) -> float:
    """Return a contestant's mistakes for each of `auto`, over the events that it came to."""
    same = sum(sum(mine[: len(each)]) for mine, each in zip(auto, theirs, strict=True))
    return sum(map(sum, theirs)) / max(same, 1)


def mistakes(given: argparse.Namespace) -> None:
    """Print mistakes of `auto`, and of the best of each of the others; means over the orders of a stream."""
    for name, stream in STREAMS.items():
        if not given.only or name in given.only:
            _mistakes(name, stream, given)


def _mistakes(name: str, stream: Stream, given: argparse.Namespace) -> None:
    orders, condition = stream.orders(given.data), Condition(given.delay, given.patience)

    def runs(makers: Makers) -> dict[str, Runs]:
        found = {}
        for each, make in makers.items():
            print(f"{name}: {each}", file=sys.stderr)
            found[each] = [
                judged(make(), examples, condition, has_probabilities=False).wrongs for examples in orders
            ]
        return found

    auto = runs({"auto": lambda: AutoClassifier(seed=given.seed)})["auto"]
    baselines = {"single": runs(singles(stream.kind)), "River": runs(river(stream.kind))}
    print(f"{name:<16}{len(orders[0]):>8,} events: auto {fmean(map(sum, auto)):,.6g}")
    for whose, found in baselines.items():
        if found:
            best = min(found, key=lambda each: ratio(found[each], auto))
            events = min(map(len, found[best]))
            made = fmean(map(sum, found[best]))
            print(f"    {whose:<8}{made:,.6g} {best}, of {events:,} events, ×{ratio(found[best], auto):.3f}")
    sys.stdout.flush()


TABLES = {
    "all": all_streams,
    "mistakes": mistakes,
    "anchors": lambda given: anchors(
        given.data, given.only, given.python, Condition(patience=given.patience), given.save or RESULTS
    ),
}


def main() -> None:
    """Print the table that is asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("table", choices=TABLES)
    parser.add_argument("--data", type=Path, default=data.DATA)
    parser.add_argument("--only", nargs="+", metavar="STREAM", default=())
    parser.add_argument("--python", nargs="+", metavar="PYTHON", default=(), help="with capymoa or lightgbm")
    parser.add_argument("--effort", choices=("low", "high"), default="high", help="of AutoClassifier")
    parser.add_argument("--seed", type=int, default=1, help="of AutoClassifier")
    parser.add_argument("--save", type=Path, metavar="FILE", help="where figures are kept")
    parser.add_argument("--delay", type=int, default=0, help="events until a label comes")
    parser.add_argument("--patience", type=float, default=_PATIENCE_SECONDS, metavar="SECONDS")
    given = parser.parse_args()
    TABLES[given.table](given)


if __name__ == "__main__":
    main()
