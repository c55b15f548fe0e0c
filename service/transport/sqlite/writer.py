"""The transactions of one member: what its writers have begun is committed together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from service.errors import OwnershipLost, ServiceError
from service.stream import Output, Writer
from service.transport.sqlite.database import Database
from service.transport.sqlite.group import Membership
from service.transport.sqlite.log import Log, Row


@dataclass(eq=False, slots=True)
class Part:
    """What one writer adds to a transaction, and what came of it."""

    partition: int
    epoch: int
    rows: Sequence[Row]
    committed: Sequence[tuple[str, int, int]]
    error: ServiceError | None = None


class Transactions:
    """Commits what several writers have begun in one durable transaction; see `Consumer.send`.

    A part whose partition is no longer this member's is left out. Any other error is that of all parts.
    """

    def __init__(self, database: Database, log: Log, membership: Membership) -> None:
        self._database = database
        self._log = log
        self._membership = membership
        self._begun: list[Part] = []

    def add(self, part: Part) -> None:
        """Add a part to the next transaction."""
        self._begun.append(part)

    def send(self) -> None:
        """Commit what was added: a transaction belongs to the thread that began it."""
        parts, self._begun = self._begun, []
        if not parts:
            return
        try:
            with self._database.writing() as connection:
                for part in parts:
                    try:
                        self._membership.check(connection, part.partition, part.epoch)
                    except OwnershipLost as error:
                        part.error = error
                        continue
                    self._log.append(connection, part.rows)
                    connection.executemany("REPLACE INTO committed VALUES (?, ?, ?)", part.committed)
        except ServiceError as error:
            for part in parts:
                part.error = part.error or error

    def finish(self, part: Part) -> None:
        """Commit a part unless it was sent. Raises `ServiceError`."""
        if part in self._begun:
            self.send()
        error, part.error = part.error, None
        try:
            if error is not None:
                raise error
        finally:
            del error  # its traceback leads to this frame


class SqliteWriter(Writer):
    """Writes for one partition in one epoch; see `service.stream.Writer`."""

    def __init__(self, transactions: Transactions, log: Log, group: str, partition: int, epoch: int) -> None:
        self._transactions = transactions
        self._log = log
        self._group = group
        self._partition = partition
        self._epoch = epoch
        self._part: Part | None = None

    def begin(
        self,
        outputs: Sequence[Output],
        offsets: Mapping[str, int],
        *,
        compress: bool = False,  # noqa: ARG002 - nothing is compressed here
    ) -> None:
        """Add `outputs` and the group's next offsets to the next transaction."""
        assert self._part is None, "the commit before was not finished"
        rows = self._log.prepare(outputs)
        committed = [
            (self._group, self._log.log(topic, self._partition), offset) for topic, offset in offsets.items()
        ]
        self._part = Part(self._partition, self._epoch, rows, committed)
        self._transactions.add(self._part)

    def finish(self) -> None:
        """See what came of what was begun."""
        if self._part is not None:
            part, self._part = self._part, None
            self._transactions.finish(part)

    def close(self) -> None:
        """Let what was begun end. The writer's successor fences it."""
        with suppress(ServiceError):
            self.finish()
