"""`Sender` writes in batches and keeps the rate."""

import itertools

import pytest

from service.cli.commands import produce as module
from service.cli.commands.produce import Sender


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


def test_the_rate_is_kept(clock):
    transport = Recorder()
    sender = Sender(transport, "t", batch_records=1000, rate=50)
    for _ in itertools.repeat(None, 101):
        sender.add(None, b"x")
    sender.flush()
    assert {len(batch) for batch in transport.batches} == {5, 1}
    assert clock[0] == pytest.approx(100 / 50)
