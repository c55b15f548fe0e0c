"""``python -m tests.simulation``: run many seeds, or one with its story. See `make simulate`."""

from __future__ import annotations

import argparse
import os
import sys

sys.path.append(sys.path.pop(0))  # what is installed, and compiled, before what lies here

from tests.simulation.defects import DEFECTS
from tests.simulation.run import explain, run_many, story

_REPORT_SECONDS = 10


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--seeds", type=int, default=10_000, help="how many to run")
    parser.add_argument("--first", type=int, default=0, help="the first of them")
    parser.add_argument("--seed", type=int, help="run this one and tell its story")
    parser.add_argument("--defect", default="", choices=["", *DEFECTS], help="put a defect back first")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="how many processes")
    given = parser.parse_args()
    return _tell(given.seed, given.defect) if given.seed is not None else _run(given)


def _tell(seed, defect):
    trace, outcome = story(seed, defect)
    print(*trace, "", sep="\n")
    print(*(f"{count:6} {what}" for what, count in sorted(outcome.counts.items())), sep="\n")
    print(f"\nseed {seed}, digest {outcome.digest[:16]}: {outcome.failure or 'everything holds'}")
    return bool(outcome.failure)


def _run(given):
    told_at = 0.0

    def report(counts, seconds):
        nonlocal told_at
        if seconds - told_at >= _REPORT_SECONDS:
            told_at = seconds
            print(f"{counts['runs']:9} seeds, {counts['runs'] / seconds:.0f}/s", file=sys.stderr)
        report.seconds = seconds

    report.seconds = 0.0
    counts, failure = run_many(
        given.first, given.seeds, workers=given.workers, defect=given.defect, report=report
    )
    if failure:
        print(explain(failure, given.defect))
        return 1
    print(*(f"{count:9} {what}" for what, count in sorted(counts.items())), sep="\n")
    print(f"{given.seeds} seeds, {given.seeds / report.seconds:.0f} seeds/s, no failure")
    return 0


if __name__ == "__main__":
    sys.exit(main())
