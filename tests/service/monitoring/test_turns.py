"""A lock that its holder leaves to others in the middle of its work."""

import threading

from service.monitoring.live_models import Turns
from service.partition.threads import give_way


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
