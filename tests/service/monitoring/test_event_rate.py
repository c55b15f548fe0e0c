from hypothesis import given
from hypothesis import strategies as st

from service.monitoring.history import RATE_SECONDS, EventRate


@given(st.floats(0.01, 2.0), st.integers(0, 1000), st.integers(2, 200))
def test_a_steady_stream_has_its_own_rate(pause, per_commit, commits):
    rate = EventRate()
    for n in range(commits):
        rate.add(n * pause, n * per_commit)
    expected = per_commit / pause
    # The counts kept are half a second apart: where the window begins is known as closely.
    assert abs(rate.value((commits - 1) * pause) - expected) <= expected * 0.25 + 1e-9


@given(st.lists(st.floats(0.0, 5.0), min_size=1, max_size=400))
def test_few_counts_are_kept(pauses):
    rate, now = EventRate(), 0.0
    for n, pause in enumerate(pauses):
        now += pause
        rate.add(now, n)
    assert len(rate._counts) <= RATE_SECONDS / 0.5 + 2


def test_what_a_model_had_counted_before_is_no_burst():
    rate = EventRate()
    rate.add(100.0, 1_000_000)
    rate.add(101.0, 1_000_050)
    assert rate.value(101.0) == 50.0


def test_before_the_first_commit_there_is_no_rate():
    assert EventRate().value(5.0) == 0.0


def test_a_stream_that_stands_still_has_none_after_a_while():
    rate = EventRate()
    rate.add(0.0, 0)
    rate.add(1.0, 100)
    assert rate.value(5.0) == 20.0
    assert rate.value(1.0 + RATE_SECONDS) == 0.0
