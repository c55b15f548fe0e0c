"""The live table is for terminals; the rows are for all."""

import io
import json

import pytest

from service.cli.lab.compare import MistakeRows, live_table
from service.datasets.files import open_source
from service.lab.contest import Contest
from service.settings.load import Settings
from service.stream import Record


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "events.ndjson"
    path.write_text('{"id":"a","text":"x","label":true}\n')
    with open_source(str(path)) as source:
        yield source


@pytest.fixture
def contest():
    return Contest(Settings(), ["perceptron", "auto"])


def records(n):
    values = [{"id": str(at), "text": f"word {at}", "label": at % 2 == 1} for at in range(n)]
    return [Record("events", 0, at, 0, None, json.dumps(value).encode()) for at, value in enumerate(values)]


def test_without_a_terminal_there_are_rows_only(source, contest):
    stream = io.StringIO()
    with live_table(source, contest.contenders, stream) as write_line:
        write_line("a row")
    assert stream.getvalue() == "a row\n"


def test_a_dumb_terminal_gets_no_table(source, contest, monkeypatch):
    monkeypatch.setenv("TERM", "dumb")
    stream = Terminal()
    with live_table(source, contest.contenders, stream):
        pass
    assert stream.getvalue() == ""


def test_a_terminal_shows_mistakes_error_and_speed_of_each_model(source, contest, monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    stream = Terminal()
    with live_table(source, contest.contenders, stream) as write_line:
        contest.process(records(5))
        write_line("a row")
    shown = stream.getvalue()
    assert "a row\n" in shown
    for expected in ("perceptron", "auto", "mistakes", "error", "events/s"):
        assert expected in shown


def test_a_row_counts_the_mistakes_up_to_its_power_of_two_wherever_batches_end(contest):
    lines, again = [], []
    rows = MistakeRows(lines.append, contest.contenders)
    contest.process(records(9))
    rows.observe()
    rows.finish()
    other = Contest(Settings(), ["perceptron", "auto"])
    single = MistakeRows(again.append, other.contenders)
    for record in records(9):
        other.process([record])
        single.observe()
    single.finish()
    assert [line.split()[0] for line in lines[2:]] == ["1", "2", "4", "8", "9"]
    assert lines == again
