"""`Sender` writes in batches, keeps the rate, and sends labels after their events."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

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


class TimedRecorder:
    """Notes when each record was written."""

    def __init__(self, clock):
        self._clock = clock
        self.times = {"t": [], "late": []}

    def produce(self, outputs):
        for output in outputs:
            self.times[output.topic].append(self._clock[0])


@given(n_events=st.integers(1, 60), rate=st.floats(1, 200), delay_seconds=st.floats(0, 30))
def test_label_follows_its_event_after_the_delay(n_events, rate, delay_seconds):
    with pytest.MonkeyPatch.context() as patch:
        transport = TimedRecorder(still_clock(patch))
        sender = Sender(transport, "t", 1000, rate, "late", delay_seconds)
        for number in range(n_events):
            sender.add(None, b'{"id":"%d","text":"","label":true}' % number)
        sender.finish()
    events, labels = transport.times["t"], transport.times["late"]
    assert len(events) == len(labels) == n_events
    batch_seconds = max(1 / rate, 1 / 10) + 1e-6
    for event, label in zip(events, labels, strict=True):
        assert event + delay_seconds - 1e-6 <= label <= event + delay_seconds + batch_seconds
