"""Rows of mistakes, as the events double."""

import json

import pytest

from service.cli.commands.compare import MistakeRows
from service.lab.contest import Contest
from service.settings.load import Settings
from service.stream.protocol import Record


@pytest.fixture
def contest():
    return Contest(Settings(), ["perceptron", "auto"])


def records(n):
    values = [{"id": str(at), "text": f"word {at}", "label": at % 2 == 1} for at in range(n)]
    return [Record("events", 0, at, 0, None, json.dumps(value).encode()) for at, value in enumerate(values)]


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
