"""Leases and hand-overs of the embedded stream, in one process."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from service.errors import OwnershipLost
from service.stream import Output
from service.transport.memory import MemoryTransport
from service.transport.sqlite import Limits, SqliteTransport
from service.transport.sqlite.liveness import LivenessLock, is_abandoned

DEADLINE_SECONDS = 30.0


class Member:
    """A consumer on a transport of its own that writes down what it is told."""

    def __init__(self, stream: str, history: list[str], name: str, limits: Limits) -> None:
        self.name = name
        self.history = history
        self.held: frozenset[int] = frozenset()
        self.on_assigned: Callable[[], object] = lambda: None
        self.on_revoked: Callable[[], object] = lambda: None
        self.transport = MemoryTransport(stream, **limits)
        self.transport.ensure_topics({"events": 4, "predictions": 4})
        self.consumer = self.transport.join("group", ["events"], self)

    def note(self, what: str, partitions: frozenset[int]) -> None:
        self.history.append(f"{self.name} {what} {sorted(partitions)}")

    def partitions_assigned(self, partitions: frozenset[int]) -> None:
        self.note("assigned", partitions)
        self.on_assigned()
        for partition in partitions:
            self.consumer.start(partition, {})
        self.held |= partitions

    def partitions_revoked(self, partitions: frozenset[int]) -> None:
        self.on_revoked()
        self.note("revoked", partitions)
        self.held -= partitions

    def partitions_lost(self, partitions: frozenset[int]) -> None:
        self.note("lost", partitions)
        self.held -= partitions

    def poll(self) -> None:
        self.consumer.poll(0, 100)


class Group:
    def __init__(self) -> None:
        self.stream = uuid.uuid4().hex
        self.history: list[str] = []
        self.members: list[Member] = []

    def join(self, name: str, **limits: float) -> Member:
        member = Member(self.stream, self.history, name, limits)
        self.members.append(member)
        member.poll()
        return member


@pytest.fixture
def group() -> Iterator[Group]:
    made = Group()
    yield made
    for member in made.members:
        member.transport.close()


def eventually(claim: Callable[[], bool], *members: Member) -> None:
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not claim():
        assert time.monotonic() < deadline, "this did not happen in time"
        time.sleep(0.01)
        for member in members:
            member.poll()


def test_a_hand_over_is_cooperative_and_moves_only_what_must_move(group: Group) -> None:
    old = group.join("old")
    writer = old.consumer.writer(3)
    old.on_revoked = lambda: writer.commit(
        [Output("predictions", b"key", b"last", partition=3)], {"events": 9}
    )
    new = group.join("new")
    assert not new.held, "the old owner has not let go yet"
    old.poll()
    new.poll()
    assert group.history == ["old assigned [0, 1, 2, 3]", "old revoked [2, 3]", "new assigned [2, 3]"]
    assert new.consumer.take_over([3])[3] == {"events": 9}
    with pytest.raises(OwnershipLost):
        writer.commit([], {"events": 10})


def test_a_member_that_waits_for_partitions_is_not_at_the_end(group: Group) -> None:
    old = group.join("old")
    assert old.consumer.at_end()
    new = group.join("new")
    assert not new.consumer.at_end()
    old.poll()
    new.poll()
    assert new.consumer.at_end()


def test_a_member_that_has_not_polled_is_not_at_the_end(group: Group) -> None:
    assert not Member(group.stream, [], "new", {}).consumer.at_end()


def test_more_members_than_partitions_leave_some_with_none(group: Group) -> None:
    members = [group.join(str(n)) for n in range(5)]
    eventually(lambda: sorted(len(m.held) for m in members) == [0, 1, 1, 1, 1], *members)
    eventually(lambda: all(member.consumer.at_end() for member in members), *members)


def test_work_longer_than_the_session_does_not_cost_the_partitions(group: Group) -> None:
    busy = group.join("busy", session_timeout_seconds=0.6)
    writer = busy.consumer.writer(0)
    other = group.join("other")
    deadline = time.monotonic() + 1.5
    while time.monotonic() < deadline:
        other.poll()
    writer.commit([], {"events": 1})
    assert group.history == ["busy assigned [0, 1, 2, 3]"]


def test_a_member_that_polls_no_more_loses_its_partitions(group: Group) -> None:
    stuck = group.join("stuck", session_timeout_seconds=0.6, max_poll_interval_seconds=0)
    writer = stuck.consumer.writer(0)
    other = group.join("other")
    eventually(lambda: len(other.held) == 4, other)
    with pytest.raises(OwnershipLost):
        writer.commit([Output("predictions", b"key", b"late", partition=0)], {"events": 1})
    assert other.consumer.take_over([0])[0] == {}
    stuck.poll()
    assert group.history[-1] == "stuck lost [0, 1, 2, 3]"
    eventually(lambda: len(stuck.held) == len(other.held) == 2, stuck, other)


def test_an_expired_lease_is_lost_though_nobody_took_over(group: Group) -> None:
    alone = group.join("alone", session_timeout_seconds=0.3, max_poll_interval_seconds=0)
    writer = alone.consumer.writer(0)
    time.sleep(0.5)
    with pytest.raises(OwnershipLost):
        writer.commit([], {"events": 1})
    alone.poll()
    assert group.history[1:] == ["alone lost [0, 1, 2, 3]", "alone assigned [0, 1, 2, 3]"]
    with pytest.raises(OwnershipLost):
        writer.commit([], {"events": 1})
    alone.consumer.writer(0).commit([], {"events": 1})


def test_a_lease_from_before_the_clock_was_set_back_counts_as_expired(group: Group) -> None:
    past = group.join("past", max_poll_interval_seconds=0)
    with past.transport._database.writing() as connection:
        connection.execute("UPDATE members SET lease_until_ms = lease_until_ms + 86400000")
    other = group.join("other")
    eventually(lambda: len(other.held) == 4, other)


def fails() -> None:
    raise RuntimeError("the assignee failed")


def test_an_assignee_that_failed_is_told_again(group: Group) -> None:
    member = Member(group.stream, group.history, "member", {})
    member.on_assigned = fails
    with pytest.raises(RuntimeError):
        member.poll()
    member.on_assigned = lambda: None
    member.poll()
    assert member.held == {0, 1, 2, 3}


def test_a_failed_last_commit_keeps_the_partitions_until_it_works(group: Group) -> None:
    old = group.join("old")
    old.on_revoked = fails
    new = group.join("new")
    with pytest.raises(RuntimeError):
        old.poll()
    new.poll()
    assert not new.held
    old.on_revoked = lambda: None
    old.poll()
    new.poll()
    assert new.held == {2, 3}


def test_groups_do_not_disturb_each_other(group: Group) -> None:
    one = group.join("one")
    one.consumer.writer(0).commit([], {"events": 7})
    other = one.transport.join("another group", ["events"], one)
    other.poll(0, 1)
    assert other.take_over([0]) == {0: {}}
    assert other._announced == one.consumer._announced == {0, 1, 2, 3}


def test_a_closing_transport_leaves_its_groups_without_a_word(group: Group) -> None:
    first = group.join("first")
    first.transport.close()
    second = group.join("second")
    assert second.held == {0, 1, 2, 3}
    assert group.history == ["first assigned [0, 1, 2, 3]", "second assigned [0, 1, 2, 3]"]


def test_a_members_lock_is_held_until_it_leaves(tmp_path: Path) -> None:
    transport = SqliteTransport(tmp_path / "stream.db")
    transport.ensure_topics({"events": 1})

    class Silent:
        def partitions_revoked(self, partitions: frozenset[int]) -> None: ...

    consumer = transport.join("group", ["events"], Silent())
    (lock,) = tmp_path.glob("stream.db-member-*")
    assert not is_abandoned(lock)
    consumer.close()
    assert list(tmp_path.glob("stream.db-member-*")) == []
    transport.close()


def test_a_lock_file_nobody_holds_is_abandoned_and_one_that_is_not_there_tells_nothing(
    tmp_path: Path,
) -> None:
    path = tmp_path / "lock"
    assert not is_abandoned(path)
    held = LivenessLock(path)
    assert not is_abandoned(path)
    held.release()
    held.release()
    path.touch()
    assert is_abandoned(path)
