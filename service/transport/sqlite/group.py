"""Consumer groups: members with leases, and which of them owns which partition in which epoch.

Three rules keep a group safe, whatever its processes do:

- A partition is acquired only while it is free; it becomes free when its owner releases it, leaves, or
  is evicted because its lease expired or its process died.
- Whenever a partition changes hands, or gets a new writer, its epoch grows. A commit checks the
  epoch and the owner's lease within its own transaction.
- A lease that has expired is never renewed: a process that was frozen for longer than its session
  is no longer a member, and joins again.

Leases use the wall clock, which all processes of a machine share. A clock that jumps can cost a member its
place, never a record.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from service.errors import OwnershipLost
from service.transport.sqlite.database import Database, wall_clock_ms
from service.transport.sqlite.liveness import LivenessLock, is_abandoned
from service.transport.sqlite.schema import whole_numbers
from service.transport.sqlite.shares import balanced

_PROBE_SECONDS = 1.0
"""How long the death of another process may go unnoticed."""


class Assignment(NamedTuple):
    """A member's partitions."""

    owned: frozenset[int]
    """Owned now."""
    assigned: frozenset[int]
    """To be owned when every hand-over is done."""


class View(NamedTuple):
    """A group as it is at one moment."""

    members: list[int]
    """Those with a lease, in the order they joined."""
    expired: list[int]
    owners: dict[int, int | None]

    def assignment(self, member: int) -> Assignment:
        """Return what `member` owns and what it should own."""
        plan = balanced(self.members, self.owners)
        return Assignment(
            frozenset(partition for partition, owner in self.owners.items() if owner == member),
            frozenset(partition for partition, owner in plan.items() if owner == member),
        )


class Membership:
    """One member's place in a group; a member of nothing until `enter`.

    Parameters
    ----------
    database
        Where the group lives.
    group, topic
        The group's name and its leading topic, whose partitions are shared.
    partitions
        The number of partitions of `topic`.
    session_seconds
        How long a lease lasts.

    """

    def __init__(
        self, database: Database, group: str, topic: str, partitions: int, session_seconds: float
    ) -> None:
        self._database = database
        self._group = group
        self._topic = topic
        self._partitions = partitions
        self._session_ms = round(session_seconds * 1000)
        self._group_id = 0
        self._id = 0
        self._lock: LivenessLock | None = None
        self._renewed_at = 0.0
        self._probe_at = 0.0

    def __str__(self) -> str:
        return f"member {self._id} of group {self._group!r} in {self._database.name}"

    def enter(self) -> None:
        """Join the group as a new member; the partitions of an earlier membership are released."""
        self.leave()
        with self._database.writing() as connection:
            self._group_id = _group_id(connection, self._group, self._topic)
            connection.executemany(
                "INSERT OR IGNORE INTO owners (group_id, partition) VALUES (?, ?)",
                [(self._group_id, partition) for partition in range(self._partitions)],
            )
            cursor = connection.execute(
                "INSERT INTO members (group_id, session_ms, lease_until_ms) VALUES (?, ?, ?)",
                (self._group_id, self._session_ms, wall_clock_ms() + self._session_ms),
            )
            self._id = cursor.lastrowid or 0
            # Acquired before the member is visible, or it would seem dead for a moment.
            self._lock = LivenessLock(path) if (path := self._lock_path(self._id)) else None
        self._renewed_at = time.monotonic()
        self._probe_at = 0.0

    def leave(self) -> None:
        """Release all partitions and leave the group. Idempotent."""
        try:
            if self._id:
                with self._database.writing() as connection:
                    _remove(connection, [self._id])
                self._id = 0
        finally:
            if self._lock:
                self._lock.release()
                self._lock = None

    def renew(self) -> None:
        """Extend the lease when a third of it has passed, unless it has expired."""
        if time.monotonic() - self._renewed_at < self._session_ms / 3000:
            return
        with self._database.writing() as connection:
            if self._id in self._view(connection).members:
                connection.execute(
                    "UPDATE members SET lease_until_ms = ? WHERE id = ?",
                    (wall_clock_ms() + self._session_ms, self._id),
                )
        self._renewed_at = time.monotonic()

    def rebalance(self) -> Assignment | None:
        """Evict dead members, acquire the free partitions assigned to this one; return its assignment.

        Returns None when this member's lease has expired: it holds nothing any more.
        """
        with self._database.reading() as connection:
            view = self._view(connection)
        dead = self._abandoned(view.members)
        assigned = view.assignment(self._id).assigned
        if dead or view.expired or any(view.owners[partition] is None for partition in assigned):
            view = self._acquire_free(dead)
        return view.assignment(self._id) if self._id in view.members else None

    def owned(self) -> frozenset[int]:
        """Return the partitions owned now: none once the lease has expired."""
        with self._database.reading() as connection:
            view = self._view(connection)
        return view.assignment(self._id).owned if self._id in view.members else frozenset()

    def _acquire_free(self, dead: list[int]) -> View:
        """Evict members and acquire free partitions, in one transaction."""
        with self._database.writing() as connection:
            gone = dead + self._view(connection).expired
            _remove(connection, gone)
            view = self._view(connection)
            free = [p for p in view.assignment(self._id).assigned if view.owners[p] is None]
            self._set_owner(connection, self._id, free)
            view.owners.update(dict.fromkeys(free, self._id))
        for path in filter(None, map(self._lock_path, gone)):
            path.unlink(missing_ok=True)
        return view

    def release(self, partitions: Iterable[int]) -> None:
        """Free partitions for their next owners, fencing their writers."""
        with self._database.writing() as connection:
            owned = self._view(connection).assignment(self._id).owned
            self._set_owner(connection, None, owned.intersection(partitions))

    def next_epoch(self, partition: int) -> int:
        """Fence the partition's writers so far, and give the epoch of the next one.

        Raises
        ------
        OwnershipLost
            This member does not own the partition.

        """
        with self._database.writing() as connection:
            if partition not in self._view(connection).assignment(self._id).owned:
                raise self._not_ours(partition)
            self._set_owner(connection, self._id, [partition])
            epoch = self._epoch(connection, partition)
            self.check(connection, partition, epoch)
        return epoch

    def epoch(self, partition: int) -> int:
        """Return the present epoch of a partition's writers. Raises `OwnershipLost` as `next_epoch` does."""
        with self._database.reading() as connection:
            if partition not in self._view(connection).assignment(self._id).owned:
                raise self._not_ours(partition)
            return self._epoch(connection, partition)

    def _epoch(self, connection: sqlite3.Connection, partition: int) -> int:
        query = "SELECT epoch FROM owners WHERE group_id = ? AND partition = ?"
        return whole_numbers(connection.execute(query, (self._group_id, partition)).fetchone())[0]

    def check(self, connection: sqlite3.Connection, partition: int, epoch: int) -> None:
        """Make sure, within a transaction, that the writer of `epoch` may write.

        Raises
        ------
        OwnershipLost
            There is a newer writer or owner, or the owner's lease has expired.

        """
        lease = connection.execute(
            "SELECT session_ms, lease_until_ms FROM owners JOIN members ON members.id = member_id"
            " WHERE owners.group_id = ? AND partition = ? AND epoch = ?",
            (self._group_id, partition, epoch),
        ).fetchone()
        if not lease or not _is_alive(*whole_numbers(lease)):
            raise self._not_ours(partition)

    def _not_ours(self, partition: int) -> OwnershipLost:
        return OwnershipLost(f"{self._topic}[{partition}] no longer belongs to this writer of {self}")

    def _view(self, connection: sqlite3.Connection) -> View:
        members: list[int] = []
        expired: list[int] = []
        leases = connection.execute(
            "SELECT id, session_ms, lease_until_ms FROM members WHERE group_id = ? ORDER BY id",
            (self._group_id,),
        )
        for member, session_ms, lease_until_ms in map(whole_numbers, leases):
            (members if _is_alive(session_ms, lease_until_ms) else expired).append(member)
        owners = connection.execute(  # no member has the number 0
            "SELECT partition, ifnull(member_id, 0) FROM owners WHERE group_id = ?", (self._group_id,)
        )
        found = {partition: owner or None for partition, owner in map(whole_numbers, owners)}
        return View(members, expired, found)

    def _set_owner(
        self, connection: sqlite3.Connection, owner: int | None, partitions: Iterable[int]
    ) -> None:
        connection.executemany(
            "UPDATE owners SET member_id = ?, epoch = epoch + 1 WHERE group_id = ? AND partition = ?",
            [(owner, self._group_id, partition) for partition in partitions],
        )

    def _abandoned(self, members: Iterable[int]) -> list[int]:
        """Find members whose process has died; checks now and then, and at once after joining."""
        if time.monotonic() < self._probe_at:
            return []
        self._probe_at = time.monotonic() + _PROBE_SECONDS
        others = ((member, self._lock_path(member)) for member in members if member != self._id)
        return [member for member, path in others if path and is_abandoned(path)]

    def _lock_path(self, member: int) -> Path | None:
        path = self._database.path
        return path.with_name(f"{path.name}-member-{member}") if path else None


def _is_alive(session_ms: int, lease_until_ms: int) -> bool:
    # A lease further ahead than any renewal could put it was written before the clock was set back.
    return 0 <= lease_until_ms - wall_clock_ms() <= 2 * session_ms


def _group_id(connection: sqlite3.Connection, name: str, topic: str) -> int:
    connection.execute("INSERT OR IGNORE INTO consumer_groups (name, topic) VALUES (?, ?)", (name, topic))
    (found,) = connection.execute(
        "SELECT id FROM consumer_groups WHERE name = ? AND topic = ?", (name, topic)
    ).fetchone()
    assert isinstance(found, int)
    return found


def _remove(connection: sqlite3.Connection, members: Iterable[int]) -> None:
    """Free what the members own, and forget them."""
    rows = [(member,) for member in members]
    connection.executemany("UPDATE owners SET member_id = NULL, epoch = epoch + 1 WHERE member_id = ?", rows)
    connection.executemany("DELETE FROM members WHERE id = ?", rows)
