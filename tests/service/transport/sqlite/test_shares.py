from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from service.stream import Place
from service.transport.sqlite.shares import balanced, shares

AVAILABLE = st.dictionaries(
    st.tuples(st.sampled_from(["events", "labels"]), st.integers(0, 5)), st.integers(0, 50)
)
MEMBERS = st.lists(st.integers(1, 9), unique=True, min_size=1, max_size=6)
OWNERS = st.lists(st.none() | st.integers(1, 9), max_size=24).map(lambda owners: dict(enumerate(owners)))


@given(st.integers(0, 100), AVAILABLE, st.integers(0, 20))
def test_all_that_may_be_given_is_given(budget: int, available: dict[Place, int], turn: int) -> None:
    granted = shares(budget, available, turn)
    assert all(0 < granted[source] <= available[source] for source in granted)
    assert sum(granted.values()) <= budget
    if budget >= len(available):
        assert sum(granted.values()) == min(budget, sum(available.values()))


@given(st.integers(12, 100), AVAILABLE, st.integers(0, 20))
def test_nobody_gets_much_less_than_another_who_had_more(
    budget: int, available: dict[Place, int], turn: int
) -> None:
    granted = shares(budget, available, turn)
    for source, count in granted.items():
        assert count == available[source] or count >= max(granted.values()) - 1


@given(st.integers(1, 5))
def test_where_records_are_fewer_than_sources_everybody_has_a_turn(budget: int) -> None:
    available = {("events", partition): 100 + partition for partition in range(6)}
    served = set()
    for turn in range(6):
        served |= set(shares(budget, available, turn))
    assert served == set(available)


@given(MEMBERS, OWNERS)
def test_every_partition_has_a_living_owner_and_no_member_two_more_than_another(
    members: list[int], owners: dict[int, int | None]
) -> None:
    plan = balanced(members, owners)
    held = Counter(dict.fromkeys(members, 0))
    held.update(plan.values())
    assert list(plan) == list(owners)
    assert set(held) == set(members)
    assert max(held.values()) - min(held.values()) <= 1


@given(MEMBERS, OWNERS)
def test_a_member_within_its_share_keeps_all_it_has(
    members: list[int], owners: dict[int, int | None]
) -> None:
    plan = balanced(members, owners)
    held = Counter(owner for owner in owners.values() if owner in members)
    for partition, owner in owners.items():
        if owner in members and held[owner] <= len(owners) // len(members):
            assert plan[partition] == owner


@given(MEMBERS, OWNERS)
def test_a_plan_carried_out_is_final(members: list[int], owners: dict[int, int | None]) -> None:
    plan = balanced(members, owners)
    assert balanced(members, plan) == plan


@given(MEMBERS, OWNERS, st.randoms())
def test_members_acting_in_any_order_come_to_rest(
    members: list[int], owners: dict[int, int | None], random
) -> None:
    owners = {p: owner if owner in members else None for p, owner in owners.items()}
    for _ in range(4):  # everybody releases, then takes, at most twice
        for member in random.sample(members, len(members)):
            plan = balanced(members, owners)
            for partition, planned in plan.items():
                if owners[partition] == member != planned:
                    owners[partition] = None
                elif owners[partition] is None and planned == member:
                    owners[partition] = member
    assert balanced(members, owners) == owners


def test_nobody_owns_anything_in_an_empty_group() -> None:
    assert balanced([], {0: 3}) == {}
