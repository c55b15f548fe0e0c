"""The table has rows at 1, 2, 4, 8, …; the bar is for terminals only."""

import io
import json

import pytest

from service.cli.progress import ProgressTable, progress_bar
from service.sources import open_source


@pytest.fixture
def lines():
    return []


@pytest.fixture
def table(lines):
    return ProgressTable(lines.append)


def rows(lines):
    return [line.split() for line in lines[2:]]


def test_rows_come_at_powers_of_two_and_at_the_end(table, lines):
    for events in range(1, 12):
        table.example(events, events // 2, 0.5, True, False, 3)
    table.finish(11, 5)
    assert [row[:2] for row in rows(lines)] == [["1", "0"], ["2", "1"], ["4", "2"], ["8", "4"], ["11", "5"]]


def test_errors_are_those_since_the_last_row_and_of_all_events(table, lines):
    for events, mistakes in [(1, 1), (2, 1), (3, 2), (4, 3)]:
        table.example(events, mistakes, 0.0, True, True, 1)
    assert [row[2:4] for row in rows(lines)] == [
        ["1.0000", "1.0000"],
        ["0.0000", "0.5000"],
        ["1.0000", "0.7500"],
    ]


def test_the_example_at_hand_is_shown(table, lines):
    table.example(1, 1, -3.25, "spam", True, 12)
    assert rows(lines) == [["1", "1", "1.0000", "1.0000", "-3.25", "spam", "true", "12"]]


def test_the_end_repeats_no_row_and_no_events_are_no_table(table, lines):
    table.finish(0, 0)
    assert lines == []
    table.example(1, 0, 1.0, 1, 1, 1)
    table.finish(1, 0)
    assert len(rows(lines)) == 1


def test_columns_stand_under_their_names_whatever_the_values(table, lines):
    table.example(1, 1, -1234567.891, "a-very-long-class-name", "x", 1)
    table.example(1_000_000_000, 999_999_999, 1e-300, 1, -1, 123456)
    assert {len(line) for line in lines if "so far" not in line} == {len(lines[0])}


def test_counts_given_in_leaps_still_get_rows(table, lines):
    for events in (5, 6, 9, 20):
        table.example(events, 0, 0.0, 1, 1, 1)
    assert [row[0] for row in rows(lines)] == ["5", "20"]


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "x.ndjson"
    path.write_text("".join(json.dumps({"id": str(number)}) + "\n" for number in range(1000)))
    with open_source(str(path)) as source:
        yield source


def test_without_a_terminal_there_are_lines_and_no_control_characters(source, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    stream = io.StringIO()
    with progress_bar(source, "replay", stream) as (messages, write_line):
        assert len(list(messages)) == 1000
        write_line("a row")
    assert stream.getvalue() == "a row\n"


def test_on_a_terminal_the_bar_reaches_the_end_and_rows_stand_above_it(source, monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    stream = Terminal()
    with progress_bar(source, "replay", stream) as (messages, write_line):
        assert len(list(messages)) == 1000
        write_line("a row")
    assert "a row\n" in stream.getvalue()
    assert "100%" in stream.getvalue()


def test_a_dumb_terminal_gets_no_bar(source, monkeypatch):
    monkeypatch.setenv("TERM", "dumb")
    stream = Terminal()
    with progress_bar(source, "replay", stream) as (messages, _):
        list(messages)
    assert stream.getvalue() == ""
