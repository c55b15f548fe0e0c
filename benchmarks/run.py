"""Speed, as ratios against peers in the same run: `make bench`.

Prints the table line by line, and writes docs/project/benchmarks.md when everything was measured in full.
Data to stdout, progress to stderr; exits with 1 if a measure failed (not if a goal was missed).
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import time
import traceback
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).parents[1]
# At the end: what is measured is the installed project, compiled, and not the sources next to this script.
sys.path.append(str(ROOT))

import footprint  # noqa: E402
import library  # noqa: E402
import serve  # noqa: E402
import stages  # noqa: E402
from measures import HEADING, ROWS, Prepare, Result, Unavailable, line, page  # noqa: E402

MEASURES: Mapping[str, Prepare] = {**library.MEASURES, **serve.MEASURES, **footprint.MEASURES}
RUNS, QUICK_RUNS = 5, 3
PAGE = ROOT / "docs" / "project" / "benchmarks.md"
_RELEASES = ("online-perceptron", "river", "kafka-python", "confluent-kafka", "pydantic", "numpy", "pandas")


def main() -> int:
    """Measure what is asked for; return the exit code."""
    asked = _arguments()
    print(HEADING, flush=True)
    results: list[Result] = []
    for name in asked.only or MEASURES:
        results += measured(name, asked.runs or (QUICK_RUNS if asked.quick else RUNS), quick=asked.quick)
    for result in results:
        if result.verdict.startswith("NO") and not result.row.note:
            _tell(f"{result.row.name} misses its goal and has no note in measures.toml")
    if path := asked.output or (None if asked.only or asked.quick else PAGE):
        path.write_text(page(results, about(), datetime.now(UTC).date(), stages.table()), "utf-8")
        _tell(f"wrote {path}")
    else:
        _tell("not everything was measured in full: no page written")
    return int(any(result.failed for result in results))


def measured(name: str, runs: int, *, quick: bool) -> Sequence[Result]:
    """Run a measure so many times, the peer first in every second turn; print its lines."""
    results = [Result(row) for row in ROWS if (row.measure or row.name) == name]
    began = time.monotonic()
    try:
        ours, peer = MEASURES[name](quick)
        for turn in range(runs):
            _tell(f"{name}: run {turn + 1} of {runs}")
            theirs = peer() if peer and turn % 2 else ()
            mine = ours()
            theirs = peer() if peer and not theirs else theirs
            for k, result in enumerate(results):
                result.ours.append(mine[k])
                result.peer.extend(theirs[k : k + 1])
    except Exception as error:  # noqa: BLE001 - one broken measure must not cost the others
        failed = not isinstance(error, Unavailable)
        if failed:
            _tell(traceback.format_exc())
        why = f"{'failed' if failed else 'skipped'}: {str(error).partition(chr(10))[0]}"
        results = [Result(each.row, missing=why, failed=failed) for each in results]
    _tell(f"{name}: {time.monotonic() - began:.0f} s")
    print("\n".join(line(result.row.title, result.cells) for result in results), flush=True)
    return results


def about() -> Sequence[str]:
    """Say what the figures were measured on: the machine, and the releases of what took part."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    processor = platform.processor() or platform.machine()
    with suppress(OSError, StopIteration):
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        processor = next(line.partition(": ")[2] for line in lines if line.startswith("model name"))
    releases = [f"Python {platform.python_version()}"]
    for name in _RELEASES:
        with suppress(metadata.PackageNotFoundError):
            releases.append(f"{name} {metadata.version(name)}")
    system = f"{platform.system()} {platform.release()}"
    machine = f"Machine: {processor}, {os.cpu_count()} cores, {memory:.0f} GiB, {system}"
    return machine, f"Releases: {', '.join(releases)}"


def _tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure speed against peers, in the same run.")
    names = ", ".join(MEASURES)
    parser.add_argument("--only", nargs="+", metavar="NAME", choices=MEASURES, help=f"of {names}")
    parser.add_argument("--runs", type=int, metavar="N", help=f"runs of each measure (default {RUNS})")
    parser.add_argument("--quick", action="store_true", help=f"smaller work, {QUICK_RUNS} runs, no page")
    parser.add_argument(
        "--output", type=Path, metavar="FILE", help="write the page there, whatever was measured"
    )
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
