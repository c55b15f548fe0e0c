"""The owner of a group of the embedded stream, and the records that a poll gives it."""

from __future__ import annotations

import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.errors import OwnershipLost
from service.stream.sqlite import MemoryTransport
from service.stream.sqlite.consumer import shares


class Owner:
    """An assignee that notes what it is told."""

    def __init__(self, transport, group="group"):
        self.told = []
        self.on_assigned = lambda: None
        self.consumer = transport.join(group, ["events", "labels"], self)

    def partitions_assigned(self, partitions):
        self.on_assigned()
        self.told.append(("assigned", sorted(partitions)))
        for partition in partitions:
            self.consumer.start(partition, {})

    def partitions_revoked(self, partitions):
        self.told.append(("revoked", sorted(partitions)))

    def partitions_lost(self, partitions):
        raise AssertionError("an owner loses nothing")


@pytest.fixture
def transport():
    opened = MemoryTransport(uuid.uuid4().hex)
    opened.ensure_topics({"events": 2, "labels": 2})
    yield opened
    opened.close()


def test_failed_assignee_is_called_again(transport):
    def fail():
        raise RuntimeError("no")

    owner = Owner(transport)
    owner.on_assigned = fail
    with pytest.raises(RuntimeError):
        owner.consumer.poll(0, 1)
    owner.on_assigned = lambda: None
    owner.consumer.poll(0, 1)
    assert owner.told == [("assigned", [0, 1])]


def test_closing_transport_leaves_its_groups_silently(transport):
    former = MemoryTransport(transport._database.name.removeprefix("memory://"))
    first = Owner(former)
    first.consumer.poll(0, 1)
    writer = first.consumer.writer(0)
    former.close()
    with pytest.raises(OwnershipLost):
        writer.commit([], {"events": 1})
    second = Owner(transport)
    second.consumer.poll(0, 1)
    assert first.told == second.told == [("assigned", [0, 1])]


@given(
    st.integers(0, 100),
    st.dictionaries(st.tuples(st.sampled_from(["events", "labels"]), st.integers(0, 5)), st.integers(0, 50)),
    st.integers(0, 20),
)
def test_records_are_shared_out_fairly(budget, available, turn):
    granted = shares(budget, available, turn)
    assert all(0 < granted[source] <= available[source] for source in granted)
    assert sum(granted.values()) <= budget
    if budget >= len(available):
        assert sum(granted.values()) == min(budget, sum(available.values()))
        for source, count in granted.items():
            assert count == available[source] or count >= max(granted.values()) - 1


def test_small_polls_serve_all_partitions_in_turn():
    available = {("events", partition): 100 + partition for partition in range(6)}
    served = [shares(2, available, turn).keys() for turn in range(6)]
    assert set().union(*served) == available.keys()
