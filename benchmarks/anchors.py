"""Evaluate `auto` and the ensembles of others: CapyMOA's, River's forests, LightGBM and TF-IDF retrained.

Those of other packages run in an environment of their own, one learner and stream at a time, as
``python peers/PROGRAM.py NAME``, with the stream in stdin: ``{"examples": [[x, y], …], "delay": events,
"patience": seconds}``. `prequential.judge_stdin` reads it. Measured with capymoa 0.15, Java 17,
and with lightgbm 4.7 and scikit-learn.

TF-IDF takes events with a text, the others those without, of at most `_MAX_COLUMNS` columns.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from math import fsum
from pathlib import Path
from typing import Any

from baselines import forests
from prequential import Condition, Judged, judged
from streams import DELAYS, DEVELOPMENT, DRIFTS, Examples

from perceptron_core import AutoClassifier

RESULTS = Path(__file__).parent / "results" / "anchors.jsonl"
"""What the tables and the picture of the documentation are made from, by tools/documentation/anchors.py."""
_PEERS = Path(__file__).parent / "peers"
_MAX_COLUMNS = 300
_CAPYMOA = ("ARF30", "SRP30", "kNN", "SGBT")
_TFIDF = "TF-IDF"
_LIGHTGBM = ("LightGBM", "LightGBM, doubling", "LightGBM, slower")
_PROGRAMS = (("capymoa", "capymoa_learners.py", _CAPYMOA), ("lightgbm", "retrained.py", (*_LIGHTGBM, _TFIDF)))

Figures = dict[str, Any]
"""A contestant on a stream, alongside `auto` over the same events: a line of the file."""


def anchors(
    data: Path, names: Iterable[str], pythons: Sequence[str], condition: Condition, saved: Path
) -> None:
    """Measure `auto`, and of the others what `saved` lacks; write it there.

    `pythons` are interpreters that have capymoa, lightgbm or both.
    """
    found, programs = read(saved), [*_programs(pythons)]
    for name in names or DEVELOPMENT:
        examples = DEVELOPMENT[name](data)
        here = condition._replace(delay=DELAYS.get(name, 0))
        auto = judged(AutoClassifier(seed=1), examples, here._replace(patience=float("inf")))
        known = {contestant for stream, contestant in found if stream == name}
        lines = [found[name, contestant] for contestant in known]
        for contestant, program in _contestants(examples, programs):
            if contestant not in known and (theirs := _judged(contestant, program, examples, here)):
                n = len(theirs.wrongs)
                figures = {"stream": name, "contestant": contestant, "events": n}
                figures |= _of("", theirs, n) | {"microseconds": theirs.microseconds}
                lines.append(figures)
        for line in lines:
            line.update(_of("auto_", auto, line["events"]), auto_microseconds=auto.microseconds)
            line["drifts"] = name in DRIFTS
            found[name, line["contestant"]] = line
            print(json.dumps(line), flush=True)
        saved.write_text("".join(json.dumps(each) + "\n" for each in found.values()), "utf-8")


def read(saved: Path) -> dict[tuple[str, str], Figures]:
    """Return the figures of a file, by stream and contestant; none if there is no file."""
    lines = saved.read_text(encoding="utf-8").splitlines() if saved.exists() else []
    known = [json.loads(line) for line in lines]
    return {(each["stream"], each["contestant"]): each for each in known}


def _of(prefix: str, run: Judged, n: int) -> Figures:
    """Return the mistakes, those of the second half, and the log loss of the first n events."""
    return {
        f"{prefix}mistakes": sum(run.wrongs[:n]),
        f"{prefix}late_mistakes": sum(run.wrongs[n // 2 : n]),
        f"{prefix}log_loss": fsum(run.losses[:n]) / n,
    }


def _programs(pythons: Iterable[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield name and command of each contestant that an interpreter can run."""
    for python in pythons:
        for package, program, names in _PROGRAMS:
            search = f"import importlib.util, sys; sys.exit(importlib.util.find_spec({package!r}) is None)"
            if not subprocess.run([python, "-c", search], check=False).returncode:
                yield from ((name, [python, str(_PEERS / program), name]) for name in names)


def _contestants(
    examples: Examples, programs: Iterable[tuple[str, list[str]]]
) -> Iterator[tuple[str, list[str]]]:
    """Yield those that can take a stream; River's have no program of their own."""
    columns = {column for x, _ in examples for column in x}
    is_dense = "text" not in columns and len(columns) <= _MAX_COLUMNS
    for name, command in programs:
        if columns == {"text"} if name == _TFIDF else is_dense:
            yield name, command
    if is_dense:
        yield from ((name, []) for name in forests(examples))


def _judged(name: str, command: Sequence[str], examples: Examples, condition: Condition) -> Judged | None:
    """Run a contestant, in its own environment if it has one; None if it fails, as MOA's sometimes do."""
    print(name, file=sys.stderr)
    if not command:
        return judged(forests(examples)[name](), examples, condition)
    given = {"examples": examples, "delay": condition.delay, "patience": condition.patience}
    done = subprocess.run(
        command,
        input=json.dumps(given),
        stdout=subprocess.PIPE,
        text=True,
        check=False,
        env={"PYTHONPATH": str(_PEERS.parent), "PATH": "/usr/bin:/bin"},
    )
    return None if done.returncode else Judged(*json.loads(done.stdout.splitlines()[-1]))
