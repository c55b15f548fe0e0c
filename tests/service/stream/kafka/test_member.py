"""What a member does alike through either client, with a client that follows a script."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from time import monotonic

import pytest

from service.errors import OwnershipLost, TransportUnavailable
from service.stream.batches import RecordBatch
from service.stream.kafka.limits import ClientOptions, TopicLimits
from service.stream.kafka.member import KafkaMember, KafkaMembership
from service.stream.protocol import Place, Record

OPTIONS = ClientOptions(10.0, None, 60.0, 30.0, TopicLimits())


class Unwilling(Exception):
    """An error of the assignee's."""


class Broken(Exception):
    """An error of the client's own."""


class Owner:
    """An assignee that starts what it is given, and notes what it is told."""

    def __init__(self) -> None:
        self.member: ScriptedMember
        self.revoked: list[frozenset[int]] = []
        self.failure: Exception | None = None

    def partitions_assigned(self, partitions: frozenset[int]) -> None:
        for partition in partitions:
            self.member.start(partition, {})

    def partitions_revoked(self, partitions: frozenset[int]) -> None:
        self.revoked.append(partitions)
        if self.failure:
            raise self.failure

    def partitions_lost(self, partitions: frozenset[int]) -> None:
        raise NotImplementedError


class ScriptedMembership(KafkaMembership):
    """A group that gives and takes what the script says."""

    is_known = True

    def assign(self, *partitions: int) -> None:
        self._arrived |= set(partitions)

    def revoke(self, *partitions: int) -> None:
        self._call_assignee(self._assignee.partitions_revoked, frozenset(partitions))
        self._remove(frozenset(partitions))

    def is_settled(self) -> bool:
        if not self.is_known:
            raise Broken
        return not self._arrived


class ScriptedCluster:
    """A cluster whose producers are what the script says."""

    name = "kafka://here"

    def __init__(self) -> None:
        self.opened: list[Producer] = []
        self.are_fenced = False
        self.last_committer = ""
        self.is_stable_after = 0
        """How many producers have to be opened before the group's offsets are stable."""

    def members(self, group: str) -> dict[str, set[int]]:
        assert group == "group"
        return {"me": set()}

    def are_stable(self) -> bool:
        return self.is_stable_after <= len(self.opened)

    def committer(self, group: str, topic: str, partition: int) -> str:
        assert (group, topic) == ("group", "events")
        return self.last_committer

    def open_partitions(self, topic: str, partitions: Collection[int]) -> list[int]:
        assert topic == "log"
        return [each for each in partitions if each == 1]

    def committed(
        self, group: str, topics: Sequence[str], partitions: Sequence[int], within_seconds: float = 1.0
    ) -> dict[int, dict[str, int]]:
        assert (group, topics) == ("group", ("events", "labels"))
        return {each: {"events": each} for each in partitions} if self.are_stable() else {}

    @staticmethod
    @contextmanager
    def translated(where: str) -> Iterator[None]:
        try:
            yield
        except Broken as error:
            raise TransportUnavailable(where) from error

    def open_producer(self, *_: object, transactional_id: str, group: str, compress: bool) -> Producer:
        assert group == "group"
        self.opened.append(Producer(transactional_id, is_fenced=self.are_fenced))
        return self.opened[-1]


class ScriptedMember(KafkaMember):
    """A member whose client takes the next step of a script at each look."""

    def __init__(self) -> None:
        owner = Owner()
        self.cluster = ScriptedCluster()
        super().__init__(self.cluster, "group", ("events", "labels"), owner, OPTIONS, lambda _: None)
        self.owner = owner
        owner.member = self
        self.group = self._membership
        self.script: list[Callable[[], object]] = []
        self.waits: list[float] = []
        self.ends: dict[Place, int] = {}
        self.paused: set[Place] = set()
        self.is_away = False
        self.has_left = False

    def _open(self, assignee: Owner) -> None:
        self._membership = ScriptedMembership(assignee, None)

    def fetch(self, *places: tuple[str, int, int]) -> None:
        for topic, partition, offset in places:
            record = Record(topic, partition, offset, 0, None, None)
            self._undelivered.keep((topic, partition), RecordBatch([record]))

    def _poll_client(self, wait_seconds: float, max_records: int) -> None:
        self.waits.append(wait_seconds)
        if self.script:
            self.script.pop(0)()

    def _check_alive(self) -> None:
        if self.is_away:
            raise TransportUnavailable("away")

    def _pause(self, pause: Collection[Place], resume: Collection[Place]) -> None:
        self.paused |= set(pause)
        self.paused -= set(resume)

    def _begin(self, partition: int, offsets: Mapping[str, int]) -> None: ...

    def _known_end(self, place: Place) -> int | None:
        return self.ends.get(place)

    def _known_position(self, place: Place) -> int | None:
        return 2 if place in self.ends else None

    def _fetch_ends(self, places: Sequence[Place]) -> dict[Place, int]:
        if self.is_away:
            raise Broken
        return {place: self.ends.get(place, 0) for place in places}

    def _group_metadata(self) -> None: ...

    def _member_id(self) -> str:
        return "me"

    def _leave(self) -> None:
        self.has_left = True
        raise Broken


class Producer:
    """A producer that may have been fenced already."""

    is_worn = False

    def __init__(self, name: str, *, is_fenced: bool) -> None:
        self.name, self.is_dropped, self._is_fenced = name, False, is_fenced

    def init_transactions(self) -> None:
        if self._is_fenced:
            raise Broken

    def transact(self, *_: object, **__: object) -> None:
        raise NotImplementedError

    def drop(self) -> None:
        self.is_dropped = True


@pytest.fixture
def member() -> ScriptedMember:
    member = ScriptedMember()
    member.group.assign(0, 1)
    assert member.poll(0.0, 10) == {}
    return member


def offsets(found: dict[int, RecordBatch]) -> dict[int, list[tuple[str, int]]]:
    return {partition: [(r.topic, r.offset) for r in records] for partition, records in found.items()}


def test_a_partitions_records_are_ordered_by_topic_then_offset(member: ScriptedMember) -> None:
    member.script = [
        lambda: member.fetch(("labels", 0, 7), ("events", 1, 3), ("events", 0, 5), ("events", 0, 6))
    ]
    assert offsets(member.poll(5.0, 10)) == {
        0: [("events", 5), ("events", 6), ("labels", 7)],
        1: [("events", 3)],
    }


def test_a_poll_without_records_ends_at_its_deadline(member: ScriptedMember) -> None:
    began = monotonic()
    assert member.poll(0.05, 10) == {}
    assert monotonic() - began >= 0.05
    assert all(wait <= 0.1 for wait in member.waits)


def test_a_poll_ends_when_partitions_were_announced(member: ScriptedMember) -> None:
    member.script = [lambda: None, lambda: member.group.assign(2)]
    assert member.poll(60.0, 10) == {}
    assert member.group.begun == {0, 1, 2}


def test_records_of_a_poll_that_fails_come_with_the_next_one(member: ScriptedMember) -> None:
    member.script = [lambda: member.fetch(("events", 0, 5))]
    member.is_away = True
    with pytest.raises(TransportUnavailable):
        member.poll(5.0, 10)
    assert not member.at_end()
    member.is_away = False
    assert offsets(member.poll(5.0, 10)) == {0: [("events", 5)]}


def test_records_of_a_partition_that_went_since_are_not_delivered(member: ScriptedMember) -> None:
    member.script = [lambda: member.fetch(("events", 0, 5), ("events", 1, 3)), lambda: member.group.revoke(0)]
    member.is_away = True
    with pytest.raises(TransportUnavailable):
        member.poll(5.0, 10)
    member.is_away = False
    assert offsets(member.poll(5.0, 10)) == {1: [("events", 3)]}
    assert member.owner.revoked == [{0}]


def test_what_the_assignee_raises_while_it_gives_up_partitions_ends_the_poll(member: ScriptedMember) -> None:
    member.owner.failure = LookupError("no")
    member.script = [lambda: member.group.revoke(0)]
    with pytest.raises(LookupError, match="no"):
        member.poll(5.0, 10)
    with pytest.raises(OwnershipLost, match=r"events\[0\] is not assigned"):
        member.start(0, {})


def test_what_the_assignee_raises_is_kept_by_nobody_once_it_was_raised(member: ScriptedMember) -> None:
    member.owner.failure = Unwilling()
    member.script = [lambda: member.group.revoke(0)]
    gc.disable()
    try:
        with suppress(Unwilling):
            member.poll(5.0, 10)
        kept = weakref.ref(member.owner.failure)
        member.owner.failure = None
        assert kept() is None
    finally:
        gc.enable()


def test_a_rewind_forgets_what_was_taken(member: ScriptedMember) -> None:
    member.fetch(("events", 0, 5), ("events", 1, 3))
    member.start(0, {"events": 2})
    assert offsets(member.poll(5.0, 10)) == {1: [("events", 3)]}


def test_of_what_is_held_only_our_own_is_paused_until_it_is_held_no_more(member: ScriptedMember) -> None:
    member.poll(0.0, 10, {("events", 0), ("labels", 1), ("events", 9)})
    assert member.paused == {("events", 0), ("labels", 1)}
    member.start(1, {})
    assert member.paused == {("events", 0)}
    member.poll(0.0, 10)
    assert member.paused == set()


def test_lag_has_no_entry_for_what_was_never_fetched(member: ScriptedMember) -> None:
    member.ends = {("events", 0): 9, ("labels", 1): 1}
    assert member.lag() == {("events", 0): 7, ("labels", 1): 0}


def test_what_was_taken_and_not_delivered_remains(member: ScriptedMember) -> None:
    member.ends = {("events", 0): 2}
    member.fetch(("events", 0, 0), ("events", 0, 1))
    assert member.remaining([("events", 0), ("events", 9)]) == {("events", 0): 2}


def test_a_member_is_at_the_end_once_it_has_delivered_everything(member: ScriptedMember) -> None:
    member.ends = {("events", 0): 3}
    assert not member.at_end()
    member.ends = {("events", 0): 2}
    assert member.at_end()
    member.group.is_known = False
    assert not member.at_end(), "the group does not answer"


def test_a_producer_that_does_not_begin_is_dropped(member: ScriptedMember) -> None:
    member.cluster.are_fenced = True
    with pytest.raises(TransportUnavailable, match="kafka://here"):
        member.writer(0)
    assert [producer.is_dropped for producer in member.cluster.opened] == [True]


def test_the_writers_of_a_member_share_a_producer_and_fence_nobody(member: ScriptedMember) -> None:
    member.writer(0)
    member.writer(1)
    (producer,) = member.cluster.opened
    assert producer.name.startswith("group-events/")
    assert not producer.is_dropped


@pytest.mark.parametrize(
    ("committer", "fenced"),
    [
        ("group-events/ab", "group-events/ab"),
        ("group-events/ab\0", "group-events/ab"),  # as confluent-kafka writes it
    ],
)
def test_a_former_owners_transaction_that_does_not_end_is_fenced_by_its_name(
    member: ScriptedMember, committer: str, fenced: str
) -> None:
    member.cluster.is_stable_after = 1
    member.cluster.last_committer = committer
    assert member.take_over([0, 1]) == {0: {"events": 0}, 1: {"events": 1}}
    assert [(each.name, each.is_dropped) for each in member.cluster.opened] == [(fenced, True)]


def test_nothing_is_taken_over_before_a_former_owners_transaction_has_ended(
    member: ScriptedMember, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.stream.kafka.member._FENCED_SECONDS", 0.1)
    member.cluster.is_stable_after = 9
    with pytest.raises(TransportUnavailable, match=r"events\[0\]: a transaction of its former owner"):
        member.take_over([0])


def test_what_an_open_transaction_hides_in_the_log_is_waited_for(
    member: ScriptedMember, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.stream.kafka.member._FENCED_SECONDS", 0.1)
    assert member.take_over([0], "log") == {0: {"events": 0}}
    with pytest.raises(TransportUnavailable, match=r"events\[1\]: a transaction of its former owner"):
        member.take_over([0, 1], "log")


def test_closing_twice_leaves_once(member: ScriptedMember) -> None:
    with pytest.raises(TransportUnavailable):
        member.close()
    assert member.has_left
    member.close()
