"""What a fresh process costs: a hashed model's memory, and the time until a command or an import is there."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from time import perf_counter

from .base import Contest, Goal, Measure, Reading, Row, Unavailable
from .stream import perceptron

_BITS = 22
_MEMORY_PROGRAM = Path(__file__).with_name("hashed_memory.py")


def _output(folder: str, *command: str) -> bytes:
    """Run a program in an empty folder, so that only what is installed can be imported."""
    return subprocess.run(command, cwd=folder, check=True, capture_output=True).stdout


def _seconds(folder: str, *command: str) -> Sequence[float]:
    began = perf_counter()
    _output(folder, *command)
    return (perf_counter() - began,)


def _megabytes(folder: str) -> Sequence[float]:
    return (float(_output(folder, sys.executable, str(_MEMORY_PROGRAM), str(_BITS))),)


@contextlib.contextmanager
def _memory(quick: bool) -> Iterator[Contest]:  # noqa: ARG001, FBT001 - what `Measure.prepare` is called with
    if not Path("/proc/self/statm").exists():
        raise Unavailable("this system has no /proc/self/statm to read a process's memory from")
    with tempfile.TemporaryDirectory() as folder:
        yield Contest(partial(_megabytes, folder))


@contextlib.contextmanager
def _help(quick: bool) -> Iterator[Contest]:  # noqa: ARG001, FBT001
    with tempfile.TemporaryDirectory() as folder:
        yield _warm(Contest(partial(_seconds, folder, perceptron(), "--help")))


@contextlib.contextmanager
def _import(quick: bool) -> Iterator[Contest]:  # noqa: ARG001, FBT001
    with tempfile.TemporaryDirectory() as folder:
        python = partial(_seconds, folder, sys.executable, "-c")
        yield _warm(Contest(partial(python, "import perceptron_core"), partial(python, "import river.base")))


def _warm(contest: Contest) -> Contest:
    """Let the files be read once before it counts."""
    contest.run(0)
    return contest


MEASURES = (
    Measure(
        "hashed-memory",
        (
            Row(
                "hashed-memory",
                f"Hashed model of 2^{_BITS} weights, memory above the empty process",
                "MB",
                Goal(40, "MB", at_least=False),
                "Resident set of a fresh process after every weight was updated, less that before the model "
                "was made, all modules imported; 1 MB = 10^6 bytes.",
                Reading.AMOUNT,
            ),
        ),
        _memory,
    ),
    Measure(
        "help",
        (
            Row(
                "help",
                "perceptron --help",
                "s",
                Goal(0.4, "s", at_least=False),
                "From the start of a fresh process to its end, files cached.",
                Reading.AMOUNT,
            ),
        ),
        _help,
    ),
    Measure(
        "import",
        (
            Row(
                "import",
                "import perceptron_core, above import river.base",
                "s",
                Goal(0.15, "s", at_least=False),
                "Fresh interpreters that import and end, files cached; the difference of the medians.",
                Reading.EXCESS,
            ),
        ),
        _import,
    ),
)
