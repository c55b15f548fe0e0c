"""A writer that reports to the health of the service when it waits for the stream."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from service.monitoring.health import Health
from service.stream import Output, Writer


class WatchedWriter(Writer):
    """A writer whose commits are seen from outside: the loop's thread cannot say that it waits for one.

    Parameters
    ----------
    writer
        Commits.
    health
        Is told that the loop waits.

    """

    def __init__(self, writer: Writer, health: Health) -> None:
        self._writer = writer
        self._health = health

    def begin(self, outputs: Sequence[Output], offsets: Mapping[str, int], *, compress: bool = False) -> None:
        """Begin a commit; see `Writer.begin`."""
        with self._health.asking():
            self._writer.begin(outputs, offsets, compress=compress)

    def finish(self) -> None:
        """Wait for the end of a commit; see `Writer.finish`."""
        with self._health.asking():
            self._writer.finish()

    def close(self) -> None:
        """Release the writer; see `Writer.close`."""
        self._writer.close()
