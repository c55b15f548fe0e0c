"""Mistakes, log loss and time of `AutoClassifier`, beside what its competitors make in the same run.

    python benchmarks/auto.py all [--seed N] [--effort low] [--save FILE]
    python benchmarks/auto.py mistakes [--vw PYTHON] [--delay N] [--labels RATIO]
    python benchmarks/auto.py rare
    python benchmarks/auto.py anchors [--python PYTHON ...] [--save FILE]

One configuration for all streams: ``AutoClassifier()``. Tables go to stdout, progress to stderr; --only names
streams. What is slower than --patience is stopped, and compared over the events it came to.

`all` compares with the release before: mistakes, log loss, time and bytes of a snapshot on each of the
development streams, a frozen list (streams.py), beside the figures saved in results/auto.json, and the
geometric means of the ratios. A change of `AutoClassifier` is kept if that of the mistakes falls, and no
stream is worse by more than 2 %.

`mistakes` has the best of our single learners with fixed parameters, of River's classifiers with its
defaults, and of Vowpal Wabbit with 24 settings, in an environment of its own (rivals.py). "Best" is the one
with the fewest mistakes on that stream, chosen afterwards.

`rare` prints average precision where 0.5, 1 and 3 % are positive: events are left out, drawn with a seed;
means of three draws. Beside it the best of the learners of `auto`, read from what `said` wrote down.

`anchors` runs the ensembles of others, each in an environment of its own (anchors.py). Figures are kept after
each learner in results/anchors.jsonl or --save FILE; of the others, what is there is not measured again.
"""

from __future__ import annotations

import argparse
import json
import random
import struct
import sys
from collections.abc import Mapping, Sequence
from math import exp, log  # noqa: TID251 - of ratios that are printed
from pathlib import Path
from statistics import fmean

import data
from anchors import RESULTS, anchors
from prequential import Condition, judged
from rivals import Makers, river, singles, vowpal_wabbit
from streams import DELAYS, DEVELOPMENT, RARE, STREAMS, Examples, Kind, Stream

from perceptron_core import AutoClassifier, to_bytes
from perceptron_core.auto.rule import HEADER
from service.lab.evaluation import ScoreCurve

BASE = Path(__file__).parent / "results" / "auto.json"
"""Figures of the release before; `--save` writes others."""
_FIGURES = ("mistakes", "log_loss", "microseconds")
_SHARES, _DRAWS = (0.005, 0.01, 0.03), 3
_PATIENCE_SECONDS = 180.0

Runs = list[list[bool]]
"""For each order of a stream, whether each prediction was wrong."""


def all_streams(given: argparse.Namespace) -> None:
    """Print the figures of each development stream beside the saved ones."""
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
    orders, condition = stream.orders(given.data), Condition(given.delay, given.labels, given.patience)

    def runs(makers: Makers) -> dict[str, Runs]:
        found = {}
        for each, make in makers.items():
            print(f"{name}: {each}", file=sys.stderr)
            found[each] = [
                judged(make(), examples, condition, has_probabilities=False).wrongs for examples in orders
            ]
        return found

    auto = runs({"auto": lambda: AutoClassifier(seed=given.seed)})["auto"]
    rivals: dict[str, dict[str, Runs]] = {"single": runs(singles(stream.kind)), "VW": {}}
    rivals["River"] = runs(river(stream.kind))
    if given.vw and stream.kind is not Kind.SEVERAL_CLASSES:
        for examples in orders:
            draw = random.Random(0)
            labelled = [draw.random() < given.labels for _ in examples]
            by_setting = vowpal_wabbit(given.vw, stream.kind, examples, condition, labelled)
            for setting, wrongs in by_setting.items():
                rivals["VW"].setdefault(setting, []).append(wrongs)
    goal = stream.to_reach if condition[:2] == (0, 1.0) else "–"
    print(f"{name:<16}{len(orders[0]):>8,} events: auto {fmean(map(sum, auto)):,.6g}, to reach {goal}")
    for whose, found in rivals.items():
        if found:
            best = min(found, key=lambda each: ratio(found[each], auto))
            events = min(map(len, found[best]))
            made = fmean(map(sum, found[best]))
            print(f"    {whose:<8}{made:,.6g} {best}, of {events:,} events, ×{ratio(found[best], auto):.3f}")
    sys.stdout.flush()


def thinned(examples: Sequence[tuple[object, bool]], share: float, seed: int) -> Examples:
    """Leave positive events out until they are this share; the others keep their order."""
    positives = [number for number, (_, y) in enumerate(examples) if y]
    n = round(share * (len(examples) - len(positives)) / (1 - share))
    kept = {*random.Random(seed).sample(positives, min(n, len(positives)))}
    return [each for number, each in enumerate(examples) if not each[1] or number in kept]  # type: ignore[misc]


def average_precision(scores: Sequence[float], truths: Sequence[bool]) -> float:
    """Judge how well scores rank events."""
    pairs = [*zip(scores, truths, strict=True)]
    curve = ScoreCurve.of((score for score, y in pairs if y), (score for score, y in pairs if not y))
    return curve.average_precision() if curve else 0.0


def learners_of(seed: int, examples: Examples) -> dict[str, float]:
    """Judge `auto`, and each of its learners: 0 where it says nothing of an event."""
    model = AutoClassifier(classes=[False, True], seed=seed)
    scores: list[float] = []
    said: list[tuple[float, ...]] = []
    for x, y in examples:
        scores.append(model.score_one(x))
        numbers = struct.unpack(f"{len(model.said()) // 8}d", model.said())
        said.append(numbers[HEADER : HEADER + int(numbers[1])] if numbers else ())
        model.learn_one(x, y)
    truths = [y for _, y in examples]
    found = {"auto": average_precision(scores, truths)}
    for k, expert in enumerate(model.experts):
        found[expert.name] = average_precision([each[k] if k < len(each) else 0.0 for each in said], truths)
    return found


def rare(given: argparse.Namespace) -> None:
    """Print average precision of `auto`, and of the best of its learners."""
    print(f"{'stream':<20}{'positives':>10}{'auto':>8}  best of its learners")
    for name, (_, examples) in RARE.items():
        for share in _SHARES if not given.only or name in given.only else ():
            runs: dict[str, list[float]] = {}
            for draw in range(_DRAWS):
                drawn = thinned(examples(given.data), share, draw)
                for learner, found in learners_of(given.seed, drawn).items():
                    runs.setdefault(learner, []).append(found)
            auto = fmean(runs.pop("auto"))
            best = max(runs, key=lambda each: fmean(runs[each]))
            n = sum(y for _, y in drawn)
            print(f"{name} {share:<14.1%}{n:>10,}{auto:>8.4f}  {fmean(runs[best]):.4f} {best}", flush=True)


TABLES = {
    "all": all_streams,
    "mistakes": mistakes,
    "rare": rare,
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
    parser.add_argument("--vw", metavar="PYTHON", help="interpreter that has vowpalwabbit")
    parser.add_argument("--python", nargs="+", metavar="PYTHON", default=(), help="with capymoa or flaml")
    parser.add_argument("--effort", choices=("low", "high"), default="high", help="of AutoClassifier")
    parser.add_argument("--seed", type=int, default=1, help="of AutoClassifier")
    parser.add_argument("--save", type=Path, metavar="FILE", help="where figures are kept")
    parser.add_argument("--delay", type=int, default=0, help="events until a label comes")
    parser.add_argument("--labels", type=float, default=1.0, metavar="RATIO", help="labels that ever come")
    parser.add_argument("--patience", type=float, default=_PATIENCE_SECONDS, metavar="SECONDS")
    given = parser.parse_args()
    TABLES[given.table](given)


if __name__ == "__main__":
    main()
