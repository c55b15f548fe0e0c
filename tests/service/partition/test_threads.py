"""Other threads get their turns while compiled code computes."""

import threading
import time

from service.batches import RecordBatch
from service.partition.threads import Turns, give_way
from tests.service.building import Feed, event


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


def test_a_thread_that_waits_has_its_turn_in_the_middle_of_a_batch():
    turns, got = Turns(), []

    def ask():
        if turns.acquire(10.0):
            got.append("asked")
            turns.release()

    asking = threading.Thread(target=ask)
    with turns:
        asking.start()
        while not got:
            give_way()
        assert turns.locked()
        assert not turns.acquire(0)
        assert not turns.acquire(0.01)
        got.append("learned")
    asking.join()
    assert got == ["asked", "learned"]


def test_where_nobody_waits_and_where_nothing_is_held_a_turn_changes_nothing():
    turns = Turns()
    give_way()
    with turns:
        give_way()
        assert turns.locked()
    assert turns.acquire(1.0)
