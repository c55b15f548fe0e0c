"""What a member does alike through either client, with a client that follows a script."""

from __future__ import annotations

import gc
import weakref
from contextlib import contextmanager, suppress
from dataclasses import replace
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.errors import TransportUnavailable
from service.stream.batches import RecordBatch
from service.stream.kafka.limits import (
    ClientOptions,
    TopicLimits,
    transaction_request_seconds,
    within_session,
)
from service.stream.kafka.member import KafkaMember, KafkaMembership
from service.stream.protocol import Record

OPTIONS = ClientOptions(10.0, None, 60.0, 30.0, TopicLimits())


class Unwilling(Exception):
    """An error of the assignee's."""


class Broken(Exception):
    """An error of the client's own."""


class Owner:
    """An assignee that starts what it is given, and notes what it is told."""

    def __init__(self):
        self.member: ScriptedMember
        self.revoked = []
        self.failure = None

    def partitions_assigned(self, partitions):
        for partition in partitions:
            self.member.start(partition, {})

    def partitions_revoked(self, partitions):
        self.revoked.append(partitions)
        if self.failure:
            raise self.failure

    def partitions_lost(self, partitions):
        raise NotImplementedError


class ScriptedMembership(KafkaMembership):
    """A group that gives and takes what the script says."""

    is_known = True

    def assign(self, *partitions):
        self._arrived |= set(partitions)

    def revoke(self, *partitions):
        self._call_assignee(self._assignee.partitions_revoked, frozenset(partitions))
        self._remove(frozenset(partitions))

    def is_settled(self):
        if not self.is_known:
            raise Broken
        return not self._arrived


class ScriptedCluster:
    """A cluster whose producers are what the script says."""

    name = "kafka://here"

    def __init__(self):
        self.opened = []
        self.are_fenced = False
        self.last_committer = ""
        self.is_stable_after = 0
        """How many producers have to be opened before the group's offsets are stable."""

    def members(self, group):
        assert group == "group"
        return {"me": set()}

    def are_stable(self):
        return self.is_stable_after <= len(self.opened)

    def committer(self, group, topic, partition):
        assert (group, topic) == ("group", "events")
        return self.last_committer

    def open_partitions(self, topic, partitions):
        assert topic == "log"
        return [each for each in partitions if each == 1]

    def committed(self, group, topics, partitions, within_seconds=1.0):
        assert (group, topics) == ("group", ("events", "labels"))
        return {each: {"events": each} for each in partitions} if self.are_stable() else {}

    @staticmethod
    @contextmanager
    def translated(where):
        try:
            yield
        except Broken as error:
            raise TransportUnavailable(where) from error

    def open_producer(self, *_, transactional_id, group, compress):
        assert group == "group"
        producer = mock.Mock(needs_replacement=False, transactional_id=transactional_id)
        producer.init_transactions.side_effect = Broken if self.are_fenced else None
        self.opened.append(producer)
        return producer


class ScriptedMember(KafkaMember):
    """A member whose client takes the next step of a script at each look."""

    def __init__(self):
        owner = Owner()
        self.cluster = ScriptedCluster()
        super().__init__(self.cluster, "group", ("events", "labels"), owner, OPTIONS, lambda _: None)
        self.owner = owner
        owner.member = self
        self.group = self._membership
        self.script = []
        self.waits = []
        self.ends = {}
        self.paused = set()
        self.is_unreachable = False
        self.has_left = False

    def _open(self, assignee):
        self._membership = ScriptedMembership(assignee, None)

    def fetch(self, *positions):
        for topic, partition, offset in positions:
            record = Record(topic, partition, offset, 0, None, None)
            self._undelivered.keep((topic, partition), RecordBatch([record]))

    def _poll_client(self, wait_seconds, max_records):
        self.waits.append(wait_seconds)
        if self.script:
            self.script.pop(0)()

    def _check_alive(self):
        if self.is_unreachable:
            raise TransportUnavailable("away")

    def _pause(self, pause, resume):
        self.paused |= set(pause)
        self.paused -= set(resume)

    def _begin(self, partition, offsets): ...

    def _known_end(self, partition):
        return self.ends.get(partition)

    def _known_position(self, partition):
        return 2 if partition in self.ends else None

    def _fetch_ends(self, partitions):
        if self.is_unreachable:
            raise Broken
        return {partition: self.ends.get(partition, 0) for partition in partitions}

    def _group_metadata(self): ...

    def _member_id(self):
        return "me"

    def _leave(self):
        self.has_left = True
        raise Broken


@pytest.fixture
def member():
    member = ScriptedMember()
    member.group.assign(0, 1)
    assert member.poll(0.0, 10) == {}
    return member


def offsets(found):
    return {partition: [(r.topic, r.offset) for r in records] for partition, records in found.items()}


def test_next_poll_returns_the_records_of_a_failed_poll(member):
    member.script = [lambda: member.fetch(("events", 0, 5))]
    member.is_unreachable = True
    with pytest.raises(TransportUnavailable):
        member.poll(5.0, 10)
    assert not member.at_end()
    member.is_unreachable = False
    assert offsets(member.poll(5.0, 10)) == {0: [("events", 5)]}


def test_records_of_a_revoked_partition_are_not_delivered(member):
    member.script = [lambda: member.fetch(("events", 0, 5), ("events", 1, 3)), lambda: member.group.revoke(0)]
    member.is_unreachable = True
    with pytest.raises(TransportUnavailable):
        member.poll(5.0, 10)
    member.is_unreachable = False
    assert offsets(member.poll(5.0, 10)) == {1: [("events", 3)]}
    assert member.owner.revoked == [{0}]


def test_error_of_the_assignee_is_not_kept_after_raising(member):
    member.owner.failure = Unwilling()
    member.script = [lambda: member.group.revoke(0)]
    gc.disable()
    try:
        with suppress(Unwilling):
            member.poll(5.0, 10)
            pytest.fail("it was not raised")
        kept = weakref.ref(member.owner.failure)
        member.owner.failure = None
        assert kept() is None
    finally:
        gc.enable()


def test_rewind_discards_fetched_records(member):
    member.fetch(("events", 0, 5), ("events", 1, 3))
    member.start(0, {"events": 2})
    assert offsets(member.poll(5.0, 10)) == {1: [("events", 3)]}


def test_only_held_partitions_of_our_own_are_paused_until_release(member):
    member.poll(0.0, 10, {("events", 0), ("labels", 1), ("events", 9)})
    assert member.paused == {("events", 0), ("labels", 1)}
    member.start(1, {})
    assert member.paused == {("events", 0)}
    member.poll(0.0, 10)
    assert member.paused == set()


def test_lag_has_no_entry_for_what_was_never_fetched(member):
    member.ends = {("events", 0): 9, ("labels", 1): 1}
    assert member.lag() == {("events", 0): 7, ("labels", 1): 0}


def test_member_is_at_the_end_once_everything_is_delivered(member):
    member.ends = {("events", 0): 3}
    assert not member.at_end()
    member.ends = {("events", 0): 2}
    assert member.at_end()
    member.group.is_known = False
    assert not member.at_end(), "the group does not answer"


def test_producer_failing_to_begin_is_dropped(member):
    member.cluster.are_fenced = True
    with pytest.raises(TransportUnavailable, match="kafka://here"):
        member.writer(0)
    assert [producer.drop.called for producer in member.cluster.opened] == [True]


def test_writers_of_a_member_share_a_producer_without_fencing(member):
    member.writer(0)
    member.writer(1)
    (producer,) = member.cluster.opened
    assert producer.transactional_id.startswith("group-events/")
    assert not producer.drop.called


@pytest.mark.parametrize(
    ("committer", "fenced"),
    [
        ("group-events/ab", "group-events/ab"),
        ("group-events/ab\0", "group-events/ab"),  # as confluent-kafka writes it
    ],
)
def test_endless_transaction_of_a_former_owner_is_fenced_by_name(member, committer, fenced):
    member.cluster.is_stable_after = 1
    member.cluster.last_committer = committer
    assert member.take_over([0, 1]) == {0: {"events": 0}, 1: {"events": 1}}
    assert [(each.transactional_id, each.drop.called) for each in member.cluster.opened] == [(fenced, True)]


def test_nothing_is_assigned_before_a_former_owners_transaction_has_ended(member, monkeypatch):
    monkeypatch.setattr("service.stream.kafka.member._FENCED_SECONDS", 0.1)
    member.cluster.is_stable_after = 9
    with pytest.raises(TransportUnavailable, match=r"events\[0\]: a transaction of its former owner"):
        member.take_over([0])


def test_records_hidden_by_an_open_transaction_are_waited_for(member, monkeypatch):
    monkeypatch.setattr("service.stream.kafka.member._FENCED_SECONDS", 0.1)
    assert member.take_over([0], "log") == {0: {"events": 0}}
    with pytest.raises(TransportUnavailable, match=r"events\[1\]: a transaction of its former owner"):
        member.take_over([0, 1], "log")


@given(st.floats(1, 300), st.floats(1, 900), st.floats(1, 900))
def test_transactions_end_within_the_session_and_commits_within_their_transaction(
    session_seconds, transaction_seconds, commit_seconds
):
    limited = within_session(
        replace(
            OPTIONS,
            session_timeout_seconds=session_seconds,
            transaction_timeout_seconds=transaction_seconds,
            commit_timeout_seconds=commit_seconds,
        )
    )
    assert limited.transaction_timeout_seconds < max(session_seconds, 5.1)
    assert limited.commit_timeout_seconds < limited.transaction_timeout_seconds


@given(st.floats(1, 900))
def test_requests_are_not_repeated_before_the_commit_timeout(commit_timeout_seconds):
    assert transaction_request_seconds(commit_timeout_seconds) > commit_timeout_seconds
