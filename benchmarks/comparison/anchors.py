"""Judge `auto` beside the ensembles of others: CapyMOA's, FLAML's AutoVW, River's forests.

Those of other packages run in an environment of their own, one learner and stream at a time, as
``python -m comparison.MODULE NAME``, with the stream in stdin:
``{"examples": [[x, y], …], "delay": events, "patience": seconds}``. They print what `prequential.judged`
returns. Measured with capymoa 0.15 on Java 17, and with flaml 2.7, vowpalwabbit 9.11 and scikit-learn.

Forests and CapyMOA's take events of at most `_MOST_COLUMNS` columns and no text, AutoVW two classes.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import fsum
from pathlib import Path
from typing import Any, NamedTuple

from perceptron_core import AutoClassifier

from .contestants import forests
from .development import DEVELOPMENT, Development
from .prequential import Judged, judged
from .report import progress, row, rule
from .streams import STREAMS, Examples

RESULTS = Path(__file__).parents[1] / "results" / "anchors.jsonl"
"""What the picture in the README is drawn from, by tools/documentation/anchors.py."""
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
    """A contestant on a stream, beside `auto` over the same events: a line of the file."""

    stream: str
    contestant: str
    events: int
    mistakes: int
    log_loss: float
    microseconds: float
    """Of processor time per event, of its process."""
    auto_mistakes: int
    auto_log_loss: float
    auto_microseconds: float
    """Over the whole stream."""


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
            for each in _measured(stream, stream.examples(data), modules, patience, seed, found):
                found[each.stream, each.contestant] = each
                saved.write_text("".join(json.dumps(x._asdict()) + "\n" for x in found.values()), "utf-8")
    _print(found.values())


def read(saved: Path) -> dict[tuple[str, str], Figures]:
    """Return the figures of a file, by stream and contestant; none if there is no file."""
    lines = saved.read_text(encoding="utf-8").splitlines() if saved.exists() else []
    known = [Figures(**json.loads(line)) for line in lines]
    return {(each.stream, each.contestant): each for each in known}


def _measured(
    stream: Development,
    examples: Examples,
    modules: Sequence[tuple[str, str, str]],
    patience: float,
    seed: int,
    found: Mapping[tuple[str, str], Figures],
) -> Iterator[Figures]:
    """Run what is missing on a stream, and `auto` every time: others are compared with it event by event."""
    progress(f"{stream.name}: auto")
    auto = judged(AutoClassifier(seed=seed), examples, stream.delay)
    known = [each for each in found.values() if each.stream == stream.name]
    for each in known:
        yield _beside(auto, each)
    for name, python, module in _contestants(examples, modules):
        if name in {each.contestant for each in known}:
            continue
        progress(f"{stream.name}: {name}")
        if python:
            theirs = _elsewhere(python, module, name, examples, stream.delay, patience)
        else:
            theirs = judged(forests(examples)[name](), examples, stream.delay, patience)
        if theirs is None:
            progress(f"{stream.name}: {name} failed, and has no figures")
            continue
        n = len(theirs.wrongs)
        measured = Figures(stream.name, name, n, *_of(theirs, n), theirs.microseconds, 0, 0.0, 0.0)
        yield _beside(auto, measured)


def _beside(auto: Judged, theirs: Figures) -> Figures:
    """Return figures with those of `auto` over the same events."""
    mistakes, loss = _of(auto, theirs.events)
    return theirs._replace(auto_mistakes=mistakes, auto_log_loss=loss, auto_microseconds=auto.microseconds)


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
) -> Judged | None:
    """Run a contestant in an environment of its own; return None if it fails, as MOA's do on some streams."""
    given = {"examples": examples, "delay": delay, "patience": patience}
    done = subprocess.run(
        [python, "-m", module, name],
        cwd=_FOLDER,
        input=json.dumps(given),
        stdout=subprocess.PIPE,
        text=True,
        check=False,
        env={"PYTHONPATH": "", "PATH": "/usr/bin:/bin"},
    )
    if done.returncode:
        return None
    found: Any = json.loads(done.stdout.splitlines()[-1])
    return Judged(*found)


def _print(found: Iterable[Figures]) -> None:
    titles = ("contestant", "events", "mistakes", "of auto", "log loss", "of auto", "µs", "of auto")
    rule("One pass, predict before learn; of auto, over the same events", titles, (12, 8, 9, 9, 9, 9, 9, 9))
    for each in found:
        row(
            each.stream[:16],
            each.contestant,
            f"{each.events:,}",
            f"{each.mistakes:,}",
            f"{each.auto_mistakes:,}",
            f"{each.log_loss:.4f}",
            f"{each.auto_log_loss:.4f}",
            f"{each.microseconds:,.1f}",
            f"{each.auto_microseconds:,.1f}",
        )
