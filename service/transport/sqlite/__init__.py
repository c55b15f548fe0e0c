"""The embedded stream: topics, groups and transactions in one SQLite file, for one machine.

From the outside in: `transport` meets the protocol of the service, `consumer` is a member of a group with
its writers, `group` records which member owns which partition, `shares` computes which should, `liveness`
shows who is alive, `log` holds the records, `database` the connection. `memory://`
(`service.transport.memory`) is the same engine on a database in memory.
"""

from service.transport.sqlite.transport import EmbeddedTransport, Limits, SqliteTransport

__all__ = ["EmbeddedTransport", "Limits", "SqliteTransport"]
