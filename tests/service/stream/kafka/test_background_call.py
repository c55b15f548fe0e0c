import threading
import time

import pytest

from service.stream.kafka import transactions
from service.stream.kafka.transactions import BackgroundCall


def test_a_call_is_under_way_when_it_was_begun_and_over_when_its_result_is_known():
    may_end, done = threading.Event(), []
    call = BackgroundCall(lambda: done.append(may_end.wait(10)), time.monotonic() + 10)
    assert done == []
    assert not call.ends_within(0)
    may_end.set()
    call.result()
    assert done == [True]


@pytest.mark.parametrize("error", [LookupError("of any kind"), KeyboardInterrupt()])
def test_what_a_call_raises_is_raised_by_its_result(error):
    def fail():
        raise error

    call = BackgroundCall(fail, time.monotonic() + 10)
    assert call.wait()
    with pytest.raises(type(error)) as raised:
        call.result()
    assert raised.value is error


def test_a_call_that_does_not_end_is_given_up_a_moment_after_its_deadline(monkeypatch):
    monkeypatch.setattr(transactions, "_GRACE_SECONDS", 0.1)
    monkeypatch.setattr(transactions, "MOMENT_SECONDS", 0.1)
    may_end = threading.Event()
    call = BackgroundCall(may_end.wait, time.monotonic() + 0.1)
    assert not call.wait()
    with pytest.raises(TimeoutError):
        call.result()
    may_end.set()


def test_a_call_whose_time_was_over_while_the_process_was_frozen_has_a_moment_to_end():
    long_ago = time.monotonic() - 3600
    BackgroundCall(lambda: time.sleep(0.2), long_ago).result()


def test_a_call_that_was_given_up_is_not_waited_for_again(monkeypatch):
    monkeypatch.setattr(transactions, "MOMENT_SECONDS", 0.1)
    may_end = threading.Event()
    call = BackgroundCall(may_end.wait, time.monotonic() - 3600)
    assert not call.wait()
    monkeypatch.setattr(transactions, "MOMENT_SECONDS", 3600)
    assert not call.wait()
    may_end.set()


def test_a_call_that_ends_within_its_grace_has_a_result():
    call = BackgroundCall(lambda: time.sleep(0.2), time.monotonic())
    call.result()
