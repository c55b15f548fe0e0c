"""The transactions of one partition: commit outputs and offsets together, by its owner alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from service.stream import Output, Writer
from service.transport.sqlite.database import Database
from service.transport.sqlite.group import Membership
from service.transport.sqlite.log import Log


class SqliteWriter(Writer):
    """Writes for one partition in one epoch; see `service.stream.Writer`."""

    def __init__(
        self, database: Database, log: Log, membership: Membership, group: str, partition: int, epoch: int
    ) -> None:
        self._database = database
        self._log = log
        self._membership = membership
        self._group = group
        self._partition = partition
        self._epoch = epoch

    def begin(
        self,
        outputs: Sequence[Output],
        offsets: Mapping[str, int],
        *,
        compress: bool = False,  # noqa: ARG002 - nothing is compressed here
    ) -> None:
        """Write `outputs` and the group's next offsets in one durable transaction.

        Has committed when it returns: a transaction belongs to the thread that began it, and needs no answer
        of anybody.
        """
        rows = self._log.prepare(outputs)
        committed = [
            (self._group, self._log.log(topic, self._partition), offset) for topic, offset in offsets.items()
        ]
        with self._database.writing() as connection:
            self._membership.check(connection, self._partition, self._epoch)
            self._log.append(connection, rows)
            connection.executemany("REPLACE INTO committed VALUES (?, ?, ?)", committed)

    def finish(self) -> None:
        """Do nothing: what was begun has ended."""

    def close(self) -> None:
        """Do nothing: a writer holds no resources. Its successor fences it."""
