"""The embedded stream: topics and transactions in one SQLite file, for one machine.

From the outside in: `transport` meets the protocol of the service, `consumer` owns a group's partitions and
has their writers, `log` holds the records, `database` the connection, its files and the lock of each group's
owner. `memory://` is the same engine on a database in memory.
"""

from service.stream.sqlite.transport import EmbeddedTransport, MemoryTransport, SqliteTransport

__all__ = ["EmbeddedTransport", "MemoryTransport", "SqliteTransport"]
