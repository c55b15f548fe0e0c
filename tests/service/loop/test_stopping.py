"""A process that was asked to stop stops, also when its stream does not answer."""

import os
import signal
import threading
import time

import pytest

from service.loop.stopping import LEAVE_SECONDS, stopping


class Exits:
    """Collects exit codes in the place of ending this process, and then lets its loop end."""

    def __init__(self):
        self.codes = []
        self.has_ended = threading.Event()

    def __call__(self, code):
        self.codes.append(code)
        self.has_ended.set()
        time.sleep(0.2)


@pytest.fixture
def exits(monkeypatch):
    collected = Exits()
    monkeypatch.setattr(os, "_exit", collected)
    return collected


def run_stuck(exits, *numbers, seconds=30.0, waiting_since=lambda: None):
    """Send this process signals, and keep its loop busy until it is ended or the time has passed."""

    def loop():
        for number in numbers:
            os.kill(os.getpid(), number)
            time.sleep(0.3)  # two signals of one kind would be one
        exits.has_ended.wait(seconds)

    with stopping() as request:
        request.run(loop, waiting_since)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_waiting_loop_ends_in_time_after_a_signal(exits, number, code):
    began = time.monotonic()
    run_stuck(exits, number, waiting_since=lambda: began)
    assert exits.codes[0] == code
    assert time.monotonic() - began >= LEAVE_SECONDS


@pytest.mark.parametrize("second", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("first", [signal.SIGTERM, signal.SIGINT])
def test_second_signal_ends_the_process_at_once(exits, first, second):
    run_stuck(exits, first, second)
    assert exits.codes[0] == (130 if second == signal.SIGINT else 0)


def test_busy_loop_may_finish_after_a_signal(exits):
    run_stuck(exits, signal.SIGTERM, seconds=LEAVE_SECONDS + 1)
    assert exits.codes == []


def test_watchdog_ignores_a_loop_that_was_not_stopped(exits):
    run_stuck(exits, seconds=0.5, waiting_since=lambda: 0.0)
    assert exits.codes == []


def test_result_and_error_of_the_loop_are_passed_on():
    with stopping() as request:
        assert request.run(lambda: 5, lambda: None) == 5
        with pytest.raises(ZeroDivisionError):
            request.run(lambda: 1 / 0, lambda: None)
