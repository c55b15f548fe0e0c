"""Speed, as ratios against peers in the same run: `make bench`.

Prints the table line by line, and writes docs/benchmarks.md when everything was measured in full.
Data to stdout, progress to stderr; exits with 1 if a measure failed (not if a goal was missed).
"""

from __future__ import annotations

import argparse
import sys
import time
import tomllib
import traceback
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).parents[1]
# At the end: what is measured is the installed project, compiled, and not the sources beside this script.
sys.path.append(str(ROOT))

import stages  # noqa: E402
from measures import report  # noqa: E402
from measures.base import Contest, Measure, Result, Unavailable  # noqa: E402
from measures.machine import machine, versions  # noqa: E402
from measures.registry import MEASURES  # noqa: E402

RUNS, QUICK_RUNS = 5, 3
PAGE = ROOT / "docs" / "benchmarks.md"
NOTES = Path(__file__).with_name("notes.toml")


def main() -> int:
    """Measure what is asked for; return the exit code."""
    asked = _arguments()
    if asked.list:
        print(
            "\n".join(
                f"{m.name:24}{row.name:24}{row.title}: {row.goal or 'no goal'}"
                for m in MEASURES
                for row in m.rows
            )
        )
        return 0
    print(report.heading(), flush=True)
    results: list[Result] = []
    for measure in MEASURES:
        if not asked.only or measure.name in asked.only:
            results += measured(
                measure, asked.runs or (QUICK_RUNS if asked.quick else RUNS), quick=asked.quick
            )
    write_page(results, asked.output or (None if asked.only or asked.quick else PAGE))
    return int(any(result.failed for result in results))


def measured(measure: Measure, runs: int, *, quick: bool) -> Sequence[Result]:
    """Run a measure so many times; print its lines."""
    results = [Result(row) for row in measure.rows]
    began = time.monotonic()
    try:
        with measure.prepare(quick) as contest:
            for turn in range(runs):
                _tell(f"{measure.name}: run {turn + 1} of {runs}")
                _add_run(results, contest, turn)
    except Unavailable as reason:
        _leave_out(results, f"skipped: {reason}", failed=False)
    except Exception as error:  # noqa: BLE001 - one broken measure must not cost the others
        _tell(traceback.format_exc())
        _leave_out(results, f"failed: {str(error).partition(chr(10))[0]}", failed=True)
    _tell(f"{measure.name}: {time.monotonic() - began:.0f} s")
    print("\n".join(map(report.line, results)), flush=True)
    return results


def write_page(results: Sequence[Result], path: Path | None) -> None:
    """Write the documentation, if there is a place for it."""
    notes = tomllib.loads(NOTES.read_text(encoding="utf-8"))
    for name in report.without_note(results, notes):
        _tell(f"{name} misses its goal and has no note in {NOTES.name}")
    if path is None:
        _tell("not everything was measured in full: no page written")
        return
    day = datetime.now(UTC).date()
    written = report.page(
        results, notes, machine=machine(), versions=versions(), day=day, stages=stages.table()
    )
    path.write_text(written, encoding="utf-8")
    _tell(f"wrote {path}")


def _add_run(results: Sequence[Result], contest: Contest, turn: int) -> None:
    ours, peer = contest.run(turn)
    others: Sequence[float | None] = peer or [None] * len(ours)
    for result, value, other in zip(results, ours, others, strict=True):
        result.add(value, other)


def _leave_out(results: Sequence[Result], why: str, *, failed: bool) -> None:
    for result in results:
        result.ours, result.peer, result.missing, result.failed = [], [], why, failed


def _tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure speed against peers, in the same run.")
    parser.add_argument("--only", nargs="+", metavar="NAME", choices=[m.name for m in MEASURES])
    parser.add_argument("--runs", type=int, metavar="N", help=f"runs of each measure (default {RUNS})")
    parser.add_argument("--quick", action="store_true", help=f"smaller work, {QUICK_RUNS} runs, no page")
    parser.add_argument("--list", action="store_true", help="name the measures, their rows and their goals")
    parser.add_argument(
        "--output", type=Path, metavar="FILE", help="write the page there, whatever was measured"
    )
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
