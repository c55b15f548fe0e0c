"""The table has rows at 1, 2, 4, 8, …; the bar is for terminals only."""

import io
import json

import pytest

from service.cli.progress import ProgressTable, progress_bar
from service.files.sources import open_source
from service.partition.examples import LearnedExamples, Step


@pytest.fixture
def lines():
    return []


@pytest.fixture
def table(lines):
    return ProgressTable(lines.append)


def rows(lines):
    return [line.split() for line in lines[2:]]


def step(mistake=False, *, score=0.5, truth=True, predicted=False, n_features=3):
    x = {str(n): 1.0 for n in range(n_features)}
    return Step("a", x, score, predicted, truth, mistake, updates=0)


@pytest.mark.parametrize("batch", [1, 3, 100])
def test_rows_come_at_powers_of_two_and_at_the_end(table, lines, batch):
    steps = [step(mistake=n % 2 == 0) for n in range(1, 12)]
    for start in range(0, len(steps), batch):
        table.observe(LearnedExamples(steps[start : start + batch]))
    table.finish()
    assert [row[:2] for row in rows(lines)] == [["1", "0"], ["2", "1"], ["4", "2"], ["8", "4"], ["11", "5"]]


def test_errors_are_those_since_the_last_row_and_of_all_events(table, lines):
    table.observe(LearnedExamples([step(mistake) for mistake in (True, False, True, True)]))
    assert [row[2:4] for row in rows(lines)] == [
        ["1.0000", "1.0000"],
        ["0.0000", "0.5000"],
        ["1.0000", "0.7500"],
    ]


def test_the_example_at_hand_is_shown(table, lines):
    table.observe(LearnedExamples([step(True, score=-3.25, truth="spam", predicted=True, n_features=12)]))
    assert rows(lines) == [["1", "1", "1.0000", "1.0000", "-3.25", "spam", "true", "12"]]


def test_columns_stand_under_their_names_whatever_the_values(table, lines):
    table.observe(LearnedExamples([step(score=-1234567.891, truth="a-very-long-class-name", predicted="x")]))
    table.observe(LearnedExamples([step(score=1e-300, n_features=1000)]))
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
