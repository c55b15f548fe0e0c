"""The embedded stream: topics, groups and transactions in one SQLite file, for one machine.

From the outside in: `transport` is what the service sees, `consumer` a group's member and its
writers, `group` which member owns which partition, `assignment` which should, `log` the records, `database`
the connection. `memory://` (`service.transport.memory`) is the same engine on a database in memory.
"""

from service.transport.sqlite.transport import EmbeddedTransport, Limits, SqliteTransport

__all__ = ["EmbeddedTransport", "Limits", "SqliteTransport"]
