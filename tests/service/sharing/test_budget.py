from hypothesis import given
from hypothesis import strategies as st

from service.sharing.budget import SHARE, Budget
from tests.service.building import SetClock


def test_a_round_may_be_opened_while_nothing_was_spent():
    assert Budget(SetClock()).is_left()


@given(st.lists(st.tuples(st.floats(0, 2), st.floats(0, 5)), max_size=50))
def test_what_is_spent_is_a_share_of_the_time_at_most_once_a_round_may_be_opened_again(steps):
    clock, spent = SetClock(), 0.0
    budget = Budget(clock)
    for seconds, pause in steps:
        with budget.spending():
            clock.seconds += seconds
        spent += seconds
        clock.seconds += pause
        if budget.is_left():
            assert spent <= SHARE * clock.seconds + 1e-9
