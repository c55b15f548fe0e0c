"""Other threads get their turns while compiled code computes."""

import threading
import time

from service.stream.batches import RecordBatch
from tests.service.building import Feed, event


def test_a_waiting_thread_runs_in_the_middle_of_a_batch():
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
