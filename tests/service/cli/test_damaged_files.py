"""Every command that reads a file says what is wrong with a damaged one; in each format, never a traceback.

`replay` and `compare` once ended at the first bad row with `Expected bytes, got BadRow`, and 13,000 tests
passed. A bad row is a subclass of bytes, which compiled batches rejected and interpreted ones took. Bad rows
were tested where files are read; batches, with plain bytes; whole commands, with bad lines of NDJSON alone,
which are plain bytes. Here each command goes the whole way, with the package as it is installed. (Compiled
and interpreted batches take the same: a law of `tests/service/batches`.) The commands are found, not listed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import click
import pyarrow as pa
import pytest
from pyarrow import feather, parquet

from service.cli.app import cli
from service.files import rows
from service.files.sources import FORMATS

N_ROWS = 100
LONGEST_LINE = 200


def reading_files(group: click.Group, *names: str) -> Iterator[tuple[str, ...]]:
    """Find the commands that read a file of examples."""
    for name in group.list_commands(click.Context(group)):
        command = group.get_command(click.Context(group), name)
        if isinstance(command, click.Group):
            yield from reading_files(command, *names, name)
        elif command is not None and any(each.name == "input_format" for each in command.params):
            yield (*names, name)


class Written(NamedTuple):
    """How a text format writes a row, given its number and label, and what is not a row of it."""

    row: Callable[[int, int], str]
    bad: str
    header: str = ""


TEXTS = {
    "ndjson": Written(
        lambda n, label: json.dumps({"id": f"{n}", "features": {"a": label, "b": 1.5}, "label": label}),
        '{"id": "x", "fea',
    ),
    "csv": Written(lambda n, label: f"r{n},{label},1.5,{label}", "1,2", "id,a,b,label\n"),
    "tsv": Written(lambda _, label: f"{label}\t{('lose', 'win')[label]}", "no tab"),
    "libsvm": Written(lambda _, label: f"{label} 1:{label} 2:1.5", "1 1:x"),
}
TABLES = {"parquet": parquet.write_table, "arrow": feather.write_feather}


def write_rows(path: Path, form: str, *, damaged: bool) -> None:
    """Write a file of good rows; if it is damaged, what stands from line 3 on is bad."""
    if form in TABLES:
        names = [b"caf\xe9" if damaged and n == 2 else b"red" for n in range(N_ROWS)]
        labels = [n % 2 for n in range(N_ROWS)]
        TABLES[form](pa.table({"a": labels, "label": labels, "text": names}), str(path))
        return
    written = TEXTS[form]
    lines = [written.row(n, n % 2).encode() for n in range(N_ROWS)]
    if damaged:
        bad = [written.bad.encode(), lines[0] + b" caf\xe9", lines[0] + b"0" * LONGEST_LINE]
        lines[1 if written.header else 2 : 0] = bad
    path.write_bytes(written.header.encode() + b"\n".join(lines) + b"\n")


ROWS = (*TEXTS, *TABLES)
"""Formats of rows; what is damaged in others is in `tests/service/files`."""
COMMANDS = [*reading_files(cli)]
INIT = ("init",)
NOTHING_TO_MAP = {"tsv", "libsvm"}
"""Formats whose rows are events already, which `init` says."""


def each_with_every_command(forms):
    found = [(command, form) for command in COMMANDS for form in forms]
    found = [(command, form) for command, form in found if command != INIT or form not in NOTHING_TO_MAP]
    names = [f"{' '.join(command)}-{form}" for command, form in found]
    return pytest.mark.parametrize(("command", "form"), found, ids=names)


@pytest.fixture
def run(perceptron, broker, tmp_path, monkeypatch):
    """Run a command on a file; a model that it needs has learned the same rows undamaged."""
    monkeypatch.setattr(rows, "MAX_LINE_BYTES", LONGEST_LINE)
    monkeypatch.setattr("service.cli.commands.plot._write_picture", lambda *_: None)

    def run(command, name, *options):
        given = {"produce": ("--broker", broker), "calibration": ("--model", "auto")}.get(command[-1], ())
        if command[0] in {"test", "predict"}:
            form = Path(name).suffix[1:]
            form = form if form in ROWS else "ndjson"
            write_rows(tmp_path / "whole", form, damaged=False)
            perceptron("train", "whole", "--input-format", form, "--epochs", "1", "--save", "model.bin")
            given = ("model.bin",)
        return perceptron(*command, *given, name, *options)

    return run


@each_with_every_command(ROWS)
def test_bad_row_is_named_by_its_line(run, command, form, tmp_path):
    write_rows(tmp_path / f"x.{form}", form, damaged=True)
    result = run(command, f"x.{form}", "--max-message-bytes", LONGEST_LINE)
    said, stops = result.stdout + result.stderr, command == ("produce",)
    bad = [3] if stops or form in TABLES or command == INIT else [3, 4, 5]  # which shows three records
    assert [line for line in bad if f"x.{form}:{line}: " in said] == bad
    assert result.exit_code == stops


@each_with_every_command(FORMATS)
def test_empty_file_is_reported_as_empty(run, command, form, tmp_path):
    (tmp_path / f"x.{form}").touch()
    result = run(command, f"x.{form}")
    can_be_empty = form not in {"csv", *TABLES} and command[0] in {"predict", "produce"}
    said = (
        "damaged"
        if form in TABLES
        else "(no header row|empty|all 0 records|no record|no labelled (event|example)|: 0 )"
    )
    assert re.search(said, result.stderr)
    assert result.exit_code == (not can_be_empty)


@each_with_every_command(TEXTS)
def test_utf_16_file_is_rejected_with_a_command_to_convert(run, command, form, tmp_path):
    write_rows(tmp_path / "utf-8", form, damaged=False)
    (tmp_path / f"x.{form}").write_bytes((tmp_path / "utf-8").read_text().encode("utf-16"))
    result = run(command, f"x.{form}")
    assert result.exit_code == 1
    assert f"x.{form}: expected {form}, got UTF-16" in result.stderr
    assert "iconv -f utf-16" in result.stderr


def test_unvalidated_bad_row_is_sent_unchanged(run, tmp_path):
    write_rows(tmp_path / "x.csv", "csv", damaged=True)
    broker = f"sqlite:///{tmp_path}/stream.db"
    assert run(("produce", "--no-validate", "--broker", broker), "x.csv").exit_code == 0
