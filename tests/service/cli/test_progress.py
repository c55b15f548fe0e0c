"""The table has rows at 1, 2, 4, 8, …; the bar is for terminals only."""

import io
import json

import pytest

from service.cli.progress import ProgressTable, progress_bar
from service.files.sources import open_source
from service.partition.examples import Example, LearnedExamples


@pytest.fixture
def lines():
    return []


@pytest.fixture
def table(lines):
    return ProgressTable(lines.append)


def rows(lines):
    return [line.split() for line in lines[2:]]


def learned(*predictions, n_features=3):
    found, x = LearnedExamples(), {str(n): 1.0 for n in range(n_features)}
    for predicted, truth, score in predictions:
        found.note(Example("a", x, predicted, score, 0), truth, 0.0, 0)
    return found


@pytest.mark.parametrize("batch", [1, 3, 100])
def test_rows_come_at_powers_of_two_and_at_the_end(table, lines, batch):
    predictions = [(n % 2 != 0, True, 0.5) for n in range(1, 12)]
    for start in range(0, len(predictions), batch):
        table.observe(learned(*predictions[start : start + batch]))
    table.finish()
    assert [row[:2] for row in rows(lines)] == [["1", "0"], ["2", "1"], ["4", "2"], ["8", "4"], ["11", "5"]]


def test_errors_are_those_since_the_last_row_and_of_all_events(table, lines):
    table.observe(learned(*[(is_right, True, 0.5) for is_right in (False, True, False, False)]))
    assert [row[2:4] for row in rows(lines)] == [
        ["1.0000", "1.0000"],
        ["0.0000", "0.5000"],
        ["1.0000", "0.7500"],
    ]


def test_the_example_at_hand_is_shown(table, lines):
    table.observe(learned((True, "spam", -3.25), n_features=12))
    assert rows(lines) == [["1", "1", "1.0000", "1.0000", "-3.25", "spam", "true", "12"]]


def test_columns_stand_under_their_names_whatever_the_values(table, lines):
    table.observe(learned(("x", "a-very-long-class-name", -1234567.891)))
    table.observe(learned((False, True, 1e-300), n_features=1000))
    assert {len(line) for line in lines if "so far" not in line} == {len(lines[0])}


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "x.ndjson"
    path.write_text("".join(json.dumps({"id": str(number)}) + "\n" for number in range(1000)))
    with open_source(str(path)) as source:
        yield source


def test_a_dumb_terminal_gets_no_bar(source, monkeypatch):
    monkeypatch.setenv("TERM", "dumb")
    stream = Terminal()
    with progress_bar(source, "replay", stream) as (messages, _):
        list(messages)
    assert stream.getvalue() == ""
