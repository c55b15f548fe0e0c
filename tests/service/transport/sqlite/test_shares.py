from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from service.transport.sqlite.shares import shares

AVAILABLE = st.dictionaries(
    st.tuples(st.integers(0, 5), st.sampled_from(["events", "labels"])), st.integers(0, 50)
)


@given(st.integers(0, 100), AVAILABLE, st.integers(0, 20))
def test_all_that_may_be_given_is_given(
    budget: int, available: dict[tuple[int, str], int], turn: int
) -> None:
    granted = shares(budget, available, turn)
    assert all(0 < granted[source] <= available[source] for source in granted)
    assert sum(granted.values()) <= budget
    if budget >= len(available):
        assert sum(granted.values()) == min(budget, sum(available.values()))


@given(st.integers(12, 100), AVAILABLE, st.integers(0, 20))
def test_nobody_gets_much_less_than_another_who_had_more(
    budget: int, available: dict[tuple[int, str], int], turn: int
) -> None:
    granted = shares(budget, available, turn)
    for source, count in granted.items():
        assert count == available[source] or count >= max(granted.values()) - 1


@given(st.integers(1, 5))
def test_where_records_are_fewer_than_sources_everybody_has_a_turn(budget: int) -> None:
    available = {(partition, "events"): 100 + partition for partition in range(6)}
    served = set()
    for turn in range(6):
        served |= set(shares(budget, available, turn))
    assert served == set(available)
