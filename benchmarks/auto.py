"""Mistakes, calibration and costs of `AutoClassifier`, beside what its competitors make in the same run.

    python benchmarks/auto.py [DATA] [--vw PYTHON] [--table NAME ...] [--only STREAM ...]
    python benchmarks/auto.py [DATA] --all [--only STREAM ...] [--effort low] [--save FILE]
    python benchmarks/auto.py [DATA] --anchors [PYTHON ...] [--only STREAM ...] [--save FILE]

One configuration for all streams: ``AutoClassifier()``. Beside it, on the same events, the best of

    our single learners  with fixed parameters, numbers raw and standardised (comparison/contestants.py)
    River's classifiers  adaptive random forest, KNN, Hoeffding tree and its linear ones, with its defaults,
                         numbers behind StandardScaler but for trees, text behind BagOfWords
    Vowpal Wabbit        of 24 settings (comparison/vowpal_wabbit.py), in an environment of its own

"Best" is the one with the fewest mistakes on that stream, chosen afterwards. What is slower than --patience
is stopped: its figure stands beside the number of events it came to, and is compared over these alone.
DATA is a folder like ../shared/data (see the README there). Tables go to stdout, progress to stderr.

With --all, no competitors but the release before: mistakes, log loss and time on each of the development
streams, a frozen list (comparison/development.py), beside the figures saved in results/auto.json, and the
geometric means of the ratios. A change of `AutoClassifier` is kept if that of the mistakes falls, and no
stream is worse by more than 2 %.

With --anchors, the ensembles of others, each in an environment of its own (comparison/anchors.py):
adaptive random forest and streaming random patches of 30 trees, nearest neighbours and boosted trees of
CapyMOA (MOA, which needs a JVM), FLAML's AutoVW, River's forests. Figures are kept after each learner, in
results/anchors.jsonl or --save FILE; of the others, what is there is not measured again.

    mistakes       all ten streams; --delay and --labels set the condition, for everybody alike
    seeds          two seeds of `AutoClassifier`; they should be less than 3 % apart
    chance         the labels shuffled, so that nothing can be learned
    calibration    expected calibration error of `AutoClassifier` after 5,000 labels
    speed          events a second, of `AutoClassifier` and of River's adaptive random forest
    rare           average precision, and recall at a precision of 0.9, where 0.5 to 3 % are positive
    memory         resident memory of `AutoClassifier`, and the size of its snapshot
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import figures
from comparison import calibration, costs, rare
from comparison.anchors import RESULTS, anchors
from comparison.frozen import BASE, compared
from comparison.mistakes import Comparison, chance, mistakes, seeds
from comparison.prequential import Condition
from comparison.report import progress_done
from comparison.streams import STREAMS

from perceptron_core import AutoClassifier

_PATIENCE_SECONDS = 180.0


def main() -> None:
    """Print the tables that are asked for."""
    given = _arguments()
    if given.all:
        compared(
            given.data,
            given.only or (),
            lambda: AutoClassifier(seed=given.seed, effort=given.effort),
            BASE,
            given.save,
        )
        return
    if given.anchors is not None:
        anchors(
            given.data,
            given.only or (),
            given.anchors,
            given.patience or math.inf,
            given.seed,
            given.save or RESULTS,
        )
        return
    streams = [stream for stream in STREAMS if not given.only or stream.name in given.only]
    comparison = Comparison(
        given.data,
        streams,
        Condition(given.delay, given.labels),
        given.seed,
        given.quick,
        given.patience or math.inf,
        given.vw,
    )
    tables: dict[str, Callable[[], None]] = {
        "mistakes": lambda: mistakes(comparison),
        "seeds": lambda: seeds(comparison),
        "chance": lambda: chance(replace(comparison, condition=Condition(shuffled=True))),
        "calibration": lambda: calibration.table(given.data, streams, given.seed, quick=given.quick),
        "speed": lambda: costs.speed(given.data, streams, comparison.patience_seconds),
        "rare": lambda: rare.table(given.data, given.only or (), given.seed, comparison.patience_seconds),
        "memory": lambda: costs.memory(given.data, quick=given.quick),
    }
    for name in given.table:
        tables[name]()
        progress_done()


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = ("mistakes", "seeds", "chance", "calibration", "speed", "rare", "memory")
    parser.add_argument("data", nargs="?", type=Path, default=figures.DATA)
    parser.add_argument("--vw", metavar="PYTHON", help="interpreter that has vowpalwabbit")
    parser.add_argument("--table", nargs="+", choices=names, default=["mistakes"], metavar="NAME")
    parser.add_argument("--only", nargs="+", metavar="STREAM")
    parser.add_argument("--all", action="store_true", help="the development streams, beside saved figures")
    parser.add_argument("--anchors", nargs="*", metavar="PYTHON", help="interpreters with capymoa or flaml")
    parser.add_argument("--effort", choices=("low", "high"), default="high", help="of AutoClassifier")
    parser.add_argument("--save", type=Path, metavar="FILE", help="where figures are kept")
    parser.add_argument("--delay", type=int, default=0, metavar="N", help="events until a label comes")
    parser.add_argument("--labels", type=float, default=1.0, metavar="RATIO", help="labels that ever come")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of AutoClassifier (default 1)")
    parser.add_argument("--quick", action="store_true", help="2,000 events of one order of each stream")
    parser.add_argument(
        "--patience",
        type=float,
        default=_PATIENCE_SECONDS,
        metavar="SECONDS",
        help="processor time of a learner of this package or of River on one order of a stream; 0: no end "
        f"(default {_PATIENCE_SECONDS:.0f})",
    )
    return parser.parse_args()


if __name__ == "__main__":
    main()
