"""The embedded stream: topics and transactions in one SQLite file, for one machine.

From the outside in: `transport` implements the protocol of the service, `consumer` owns a group's partitions
and their writers, `log` stores the records, and `database` has the connection, its files and the lock of each
group's owner. `memory://` uses the same code on a database in memory.
"""

from service.stream.sqlite.transport import EmbeddedTransport, MemoryTransport, SqliteTransport

__all__ = ["EmbeddedTransport", "MemoryTransport", "SqliteTransport"]
