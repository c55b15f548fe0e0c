"""Other threads get their turns while compiled code computes."""

import threading
import time

import pytest

from service.errors import TooManyRejected
from service.messages.dead_letter import dead_letter
from service.messages.rejection import Reason, Rejection
from service.partition.limits import RejectionLimit
from service.stream.batches import RecordBatch
from service.stream.protocol import Record
from tests.service.building import Feed, event


@pytest.fixture(params=[1, 7, 1000])
def feed(request):
    """Show a limit a pattern of good and bad messages, in batches of several sizes."""

    def show(limit, pattern):
        log = [(Record("events", 3, offset, 0, None, b"x"), bad) for offset, bad in enumerate(pattern)]
        for start in range(0, len(log), request.param):
            batch = log[start : start + request.param]
            letters = [(n, letter(record)) for n, (record, bad) in enumerate(batch) if bad]
            limit.observe([record for record, _ in batch], letters)

    return show


def letter(record):
    return dead_letter(record, Rejection(Reason.INVALID_JSON, "no"), "dead")


def test_a_share_up_to_the_limit_is_borne(feed):
    feed(RejectionLimit(0.5, 10), [True, False] * 100)


def test_one_more_than_the_limit_stops_and_shows_three_origins(feed):
    with pytest.raises(TooManyRejected) as stopped:
        feed(RejectionLimit(0.5, 10), [True, False] * 100 + [True, True])
    assert str(stopped.value).count("events[3]@") == 3
    assert "events[3]@201: invalid_json: no" in str(stopped.value)
    assert "--max-rejected-ratio" in stopped.value.hint


def test_the_window_slides(feed):
    feed(RejectionLimit(0.5, 10), ([True] * 5 + [False] * 5) * 50)


def test_a_few_bad_messages_at_the_start_are_no_alarm(feed):
    feed(RejectionLimit(0.5, 10), [True] * 5)


def test_a_limit_of_one_never_stops(feed):
    feed(RejectionLimit(1.0, 10), [True] * 1000)


def test_a_thread_that_waits_runs_in_the_middle_of_a_batch():
    feed, turns, is_over = Feed(), [], threading.Event()

    def take_turns():
        while not is_over.wait(0.0001):
            turns.append(time.perf_counter())

    other = threading.Thread(target=take_turns)
    other.start()
    try:
        for _ in range(50):
            events = [event(str(number), "win", label=True) for number in range(5000)]
            batch = RecordBatch([feed.record(each) for each in events])
            began = time.perf_counter()
            feed.processor.process_batch(batch)
            third = (time.perf_counter() - began) / 3
            if any(began + third < turn < began + 2 * third for turn in turns):
                return
        raise AssertionError("no turn in the middle of any batch")
    finally:
        is_over.set()
        other.join()
