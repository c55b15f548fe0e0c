"""The log of one librdkafka client, which shows whether a connection has failed."""

from __future__ import annotations

from typing import Final

from service.transport.kafka.confluent.cluster import LIBRDKAFKA_LOG

# What librdkafka's log says when a connection has broken, or a request was not answered in time; and when no
# connection came about, so that no request was under way.
_FAILURES: Final = frozenset({"FAIL", "REQTMOUT"})
_NEVER_CONNECTED: Final = "Connect to"


class ConnectionLog:
    """A logger for one client, which notes failures of its connections.

    librdkafka (2.16) repeats what was under way there, and tells of it in no other way. Of the same failure
    it reports once in 30 s, so a noted failure is not forgotten.

    Attributes
    ----------
    has_failure : bool
        Whether a connection has broken or did not come about.
    has_broken : bool
        Whether one has broken: a request may have been under way.

    """

    def __init__(self) -> None:
        self.has_failure = self.has_broken = False

    def log(self, level: int, form: str, /, *words: str) -> None:
        """Take a line, as `logging.Logger.log` does."""
        if words[0] in _FAILURES:
            self.has_failure = True
            self.has_broken |= _NEVER_CONNECTED not in words[-1]
        LIBRDKAFKA_LOG.log(level, form, *words)
