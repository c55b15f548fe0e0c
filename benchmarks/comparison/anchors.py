"""Judge `auto` beside the ensembles of others: CapyMOA's, FLAML's AutoVW, River's forests.

Those of other packages run in an environment of their own, one learner and stream at a time, as
``python -m comparison.MODULE NAME``, with the stream in stdin:
``{"examples": [[x, y], …], "delay": events, "patience": seconds}``. They print what `prequential.judged`
returns. Forests and
CapyMOA's take events of at most `_MOST_COLUMNS` columns and no text, AutoVW two classes.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from math import fsum
from pathlib import Path
from typing import Any, NamedTuple

from perceptron_core import AutoClassifier
from perceptron_core.elementary import exp, log

from .contestants import forests
from .development import DEVELOPMENT, Development
from .prequential import Judged, judged
from .report import note, progress, row, rule
from .streams import STREAMS, Examples

RESULTS = Path(__file__).parents[1] / "results" / "anchors.json"
"""The figures of the picture in the README."""
_FOLDER = Path(__file__).parents[1]
_MOST_COLUMNS = 300
_CAPYMOA = ("ARF30", "SRP30", "kNN", "SGBT")
_IN_DEVELOPMENT = {stream.name for stream in DEVELOPMENT}
_ALL = (
    *DEVELOPMENT,
    *(
        Development(stream.name, lambda data, orders=stream.orders: orders(data)[0])  # type: ignore[misc]
        for stream in STREAMS
        if stream.name not in _IN_DEVELOPMENT
    ),
)


class Figures(NamedTuple):
    """A contestant on a stream, beside `auto` over the same events."""

    events: int
    mistakes: int
    log_loss: float
    microseconds: float
    of_auto: tuple[int, float]
    """Its mistakes and log loss."""

    @property
    def ratio(self) -> float:
        """Return its mistakes for each of `auto`."""
        return (self.mistakes + 1) / (self.of_auto[0] + 1)


Results = dict[str, dict[str, Figures]]
"""By stream and contestant."""


def anchors(
    data: Path, names: Iterable[str], pythons: Sequence[str], patience: float, seed: int, saved: Path
) -> None:
    """Measure `auto`, and of the others what `saved` lacks; write it there, and print all of it.

    `pythons` are interpreters that have capymoa, flaml or both.
    """
    wanted, found = {*names}, read(saved)
    modules = [*_modules(pythons)]
    for stream in _ALL:
        if not wanted or stream.name in wanted:
            _measure(stream, stream.examples(data), modules, patience, seed, found, saved)
    _print(found)


def read(saved: Path) -> Results:
    """Return the figures of a file; none if there is no file."""
    known = json.loads(saved.read_text(encoding="utf-8")) if saved.exists() else {}
    return {
        stream: {
            name: Figures(events, mistakes, loss, microseconds, (of_auto[0], of_auto[1]))
            for name, (events, mistakes, loss, microseconds, of_auto) in contestants.items()
        }
        for stream, contestants in known.items()
    }


def _measure(
    stream: Development,
    examples: Examples,
    modules: Sequence[tuple[str, str, str]],
    patience: float,
    seed: int,
    found: Results,
    saved: Path,
) -> None:
    """Run what is missing on a stream, and `auto` every time: others are compared with it event by event."""
    mine = found.setdefault(stream.name, {})
    progress(f"{stream.name}: auto")
    auto = judged(AutoClassifier(seed=seed), examples, stream.delay)
    for name, each in mine.items():
        mine[name] = each._replace(of_auto=_of(auto, each.events))
    mine["auto"] = _figures(auto, auto)
    for name, python, module in _contestants(examples, modules):
        if name in mine:
            continue
        progress(f"{stream.name}: {name}")
        if python:
            theirs = _elsewhere(python, module, name, examples, stream.delay, patience)
        else:
            theirs = judged(forests(examples)[name](), examples, stream.delay, patience)
        mine[name] = _figures(theirs, auto)
        _write(found, saved)
    _write(found, saved)


def _write(found: Results, saved: Path) -> None:
    saved.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def _figures(theirs: Judged, auto: Judged) -> Figures:
    n = len(theirs.wrongs)
    return Figures(n, *_of(theirs, n), theirs.microseconds, _of(auto, n))


def _of(run: Judged, n: int) -> tuple[int, float]:
    """Return the mistakes and the log loss of the first n events."""
    return sum(run.wrongs[:n]), fsum(run.losses[:n]) / n


def _modules(pythons: Iterable[str]) -> Iterator[tuple[str, str, str]]:
    """Yield name, interpreter and module of each contestant that an interpreter can run."""
    for python in pythons:
        for package, module, names in (
            ("capymoa", "capymoa_learners", _CAPYMOA),
            ("flaml", "flaml_auto_vw", ("AutoVW",)),
        ):
            search = f"import importlib.util, sys; sys.exit(importlib.util.find_spec({package!r}) is None)"
            if not subprocess.run([python, "-c", search], check=False).returncode:
                yield from ((name, python, f"comparison.{module}") for name in names)


def _contestants(
    examples: Examples, modules: Sequence[tuple[str, str, str]]
) -> Iterator[tuple[str, str, str]]:
    """Yield those that can take a stream; River's have no interpreter of their own."""
    columns = {column for x, _ in examples for column in x}
    is_dense = "text" not in columns and len(columns) <= _MOST_COLUMNS
    for name, python, module in modules:
        if is_dense if name in _CAPYMOA else {y for _, y in examples} == {False, True}:
            yield name, python, module
    if is_dense:
        yield from ((name, "", "") for name in forests(examples))


def _elsewhere(
    python: str, module: str, name: str, examples: Examples, delay: int, patience: float
) -> Judged:
    """Run a contestant in an environment of its own. Raises CalledProcessError if it fails."""
    given = {"examples": examples, "delay": delay, "patience": patience}
    done = subprocess.run(
        [python, "-m", module, name],
        cwd=_FOLDER,
        input=json.dumps(given),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        env={"PYTHONPATH": "", "PATH": "/usr/bin:/bin"},
    )
    found: Any = json.loads(done.stdout.splitlines()[-1])
    return Judged(*found)


def _print(found: Results) -> None:
    titles = ("contestant", "events", "mistakes", "of auto", "ratio", "log loss", "of auto", "µs")
    rule("One pass, predict before learn; of auto, over the same events", titles, (12, 8, 9, 9, 7, 9, 9, 9))
    for stream, contestants in found.items():
        for name, each in contestants.items():
            row(
                stream[:16],
                name,
                f"{each.events:,}",
                f"{each.mistakes:,}",
                f"{each.of_auto[0]:,}",
                f"{each.ratio:.3f}",
                f"{each.log_loss:.4f}",
                f"{each.of_auto[1]:.4f}",
                f"{each.microseconds:,.1f}",
            )
    for name, (n, ratio, loss, time, worse) in summary(found).items():
        note(
            f"{name}, {n} streams: mistakes ×{ratio:.3f} of auto's, log loss ×{loss:.3f}, time ×{time:.1f} "
            f"(geometric means); fewer mistakes than auto on {worse}"
        )


def summary(found: Results) -> dict[str, tuple[int, float, float, float, int]]:
    """Return of each contestant its streams, the geometric means of its ratios to `auto`, and its wins."""
    names = dict.fromkeys(name for each in found.values() for name in each if name != "auto")
    means = {}
    for name in names:
        pairs = [(each[name], each["auto"]) for each in found.values() if name in each]
        columns = zip(
            *(
                (theirs.ratio, theirs.log_loss / theirs.of_auto[1], theirs.microseconds / auto.microseconds)
                for theirs, auto in pairs
            ),
            strict=True,
        )
        mistakes, loss, time = (exp(fsum(map(log, c)) / len(pairs)) for c in columns)
        wins = sum(theirs.mistakes < theirs.of_auto[0] for theirs, _ in pairs)
        means[name] = (len(pairs), mistakes, loss, time, wins)
    return means
