from hypothesis import given
from hypothesis import strategies as st

from service.sharing.budget import SHARE, SHARE_OF_REST, Budget
from tests.service.building import SetClock


def test_a_round_may_be_opened_while_nothing_was_spent():
    assert Budget(SetClock()).is_left()


@given(st.lists(st.tuples(*[st.floats(0, 2)] * 4), max_size=50))
def test_what_is_spent_is_a_share_of_the_time_at_most_once_a_round_may_be_opened_again(steps):
    clock, spent, rest_seconds = SetClock(), 0.0, 0.0
    budget = Budget(clock)
    for seconds, other_work, rest, starving in steps:
        with budget.spending():
            clock.work(seconds)
        spent += seconds
        clock.work(other_work)
        with budget.resting():
            clock.seconds += rest
        clock.seconds += starving
        rest_seconds += rest
        if budget.is_left():
            assert spent <= SHARE * clock.worked_seconds + SHARE_OF_REST * rest_seconds + 1e-9


def test_a_round_opens_once_work_makes_up_for_the_last_one():
    clock = SetClock()
    budget = Budget(clock)
    with budget.spending():
        clock.work(1.0)
    clock.work(0.9 / SHARE)
    assert not budget.is_left()
    clock.work(0.2 / SHARE)
    assert budget.is_left()


def test_a_round_opens_once_rest_makes_up_for_the_last_one():
    clock = SetClock()
    budget = Budget(clock)
    with budget.spending():
        clock.work(1.0)
    for seconds, is_enough in ((0.9, False), (0.2, True)):
        with budget.resting():
            clock.seconds += seconds / SHARE_OF_REST
        assert budget.is_left() == is_enough
