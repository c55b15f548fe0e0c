"""The table has rows at 1, 2, 4, 8, …; records are sent at their rate."""

import itertools

import pytest

from service.cli.commands import produce as module
from service.cli.commands.produce import Sender
from service.cli.replay_outputs import ProgressTable
from service.partition.examples import Example, LearnedExamples


@pytest.fixture
def table():
    return ProgressTable()


@pytest.fixture
def shown(capsys):
    """Return the function that gives the lines on stderr."""

    def shown():
        return capsys.readouterr().err.splitlines()

    return shown


def rows(lines):
    return [line.split() for line in lines[2:]]


def learned(*predictions, n_features=3):
    found, x = LearnedExamples(), {str(n): 1.0 for n in range(n_features)}
    for predicted, truth, score in predictions:
        found.note(Example("a", x, predicted, score, 0), truth, 0.0, 0)
    return found


@pytest.mark.parametrize("batch", [1, 3, 100])
def test_rows_come_at_powers_of_two_and_at_the_end(table, shown, batch):
    predictions = [(n % 2 != 0, True, 0.5) for n in range(1, 12)]
    for start in range(0, len(predictions), batch):
        table.observe(learned(*predictions[start : start + batch]))
    table.finish()
    assert [row[:2] for row in rows(shown())] == [["1", "0"], ["2", "1"], ["4", "2"], ["8", "4"], ["11", "5"]]


def test_progress_shows_the_current_example(table, shown):
    table.observe(learned((True, "spam", -3.25), n_features=12))
    assert rows(shown()) == [["1", "1", "1.0000", "1.0000", "-3.25", "spam", "true", "12"]]


def test_columns_are_aligned_with_headers_for_any_value(table, shown):
    table.observe(learned(("x", "a-very-long-class-name", -1234567.891)))
    table.observe(learned((False, True, 1e-300), n_features=1000))
    lines = shown()
    assert {len(line) for line in lines if "so far" not in line} == {len(lines[0])}


class Recorder:
    def __init__(self):
        self.batches = []

    def produce(self, outputs):
        self.batches.append([output.value for output in outputs])


def still_clock(patch):
    """Return a clock that only sleeping moves."""
    now = [0.0]
    patch.setattr(module.time, "monotonic", lambda: now[0])
    patch.setattr(module.time, "sleep", lambda seconds: now.__setitem__(0, now[0] + seconds))
    return now


@pytest.fixture
def clock(monkeypatch):
    return still_clock(monkeypatch)


def test_sender_limits_records_to_the_rate(clock):
    transport = Recorder()
    sender = Sender(transport, "t", batch_records=1000, rate=50)
    for _ in itertools.repeat(None, 101):
        sender.add(None, b"x")
    sender.flush()
    assert {len(batch) for batch in transport.batches} == {5, 1}
    assert clock[0] == pytest.approx(100 / 50)
