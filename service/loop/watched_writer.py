"""Commits that are seen from outside. In: a writer. Out: one that says when it waits for the stream."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from service.monitoring.health import Health
from service.stream import Output, Writer


class WatchedWriter:
    """A writer whose commits are seen from outside: the loop's thread cannot say that it waits for one."""

    def __init__(self, writer: Writer, health: Health) -> None:
        self._writer = writer
        self._health = health
        self.close = writer.close

    def commit(
        self, outputs: Sequence[Output], offsets: Mapping[str, int], *, compress: bool = False
    ) -> None:
        """Commit; see `Writer.commit`."""
        with self._health.asking():
            self._writer.commit(outputs, offsets, compress=compress)
