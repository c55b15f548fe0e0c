"""A process that was told to leave leaves, also when its stream does not answer."""

import os
import signal
import threading
import time

import pytest

from service.loop.departure import LEAVE_SECONDS, Departure


@pytest.fixture
def told():
    """Collect exit codes in the place of ending this process, and ignore the signals otherwise."""
    before = {number: signal.signal(number, lambda *_: None) for number in (signal.SIGTERM, signal.SIGINT)}
    yield Exits()
    for number, handler in before.items():
        signal.signal(number, handler)


class Exits:
    def __init__(self):
        self.codes = []
        self.happened = threading.Event()

    def __call__(self, code):
        self.codes.append(code)
        self.happened.set()
        time.sleep(0.2)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_who_waits_for_the_stream_is_ended_in_time(told, number, code):
    began = time.monotonic()
    with Departure(lambda: began, end=told):
        os.kill(os.getpid(), number)
        assert told.happened.wait(LEAVE_SECONDS + 2)
    assert told.codes[0] == code
    assert LEAVE_SECONDS <= time.monotonic() - began < LEAVE_SECONDS + 1.5


def test_who_is_told_twice_is_ended_at_once(told):
    began = time.monotonic()
    with Departure(lambda: None, end=told):
        os.kill(os.getpid(), signal.SIGTERM)
        os.kill(os.getpid(), signal.SIGINT)
        assert told.happened.wait(2)
    assert time.monotonic() - began < LEAVE_SECONDS / 2


def test_who_does_not_wait_for_the_stream_may_finish(told):
    with Departure(lambda: None, end=told):
        os.kill(os.getpid(), signal.SIGTERM)
        assert not told.happened.wait(LEAVE_SECONDS + 1)


def test_nobody_is_ended_who_was_not_told_to_leave(told):
    with Departure(lambda: 0.0, end=told):
        assert not told.happened.wait(0.5)
