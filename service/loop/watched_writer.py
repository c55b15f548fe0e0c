"""A writer that reports to the health of the service when it waits for the stream."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext

from service.monitoring.health import Health
from service.sharing.budget import Budget
from service.stream import Output, Writer


class WatchedWriter(Writer):
    """A writer whose commits are seen from outside: the loop's thread cannot say that it waits for one.

    Parameters
    ----------
    writer
        Commits.
    health
        Is told that the loop waits.
    budget
        Is told for how long, as rounds may take that time; None where no model is shared.

    """

    def __init__(self, writer: Writer, health: Health, budget: Budget | None = None) -> None:
        self._writer = writer
        self._health = health
        self._resting: Callable[[], AbstractContextManager[None]] = (
            nullcontext if budget is None else budget.resting
        )

    def begin(self, outputs: Sequence[Output], offsets: Mapping[str, int], *, compress: bool = False) -> None:
        """Begin a commit; see `Writer.begin`."""
        with self._health.asking(), self._resting():
            self._writer.begin(outputs, offsets, compress=compress)

    def finish(self) -> None:
        """Wait for the end of a commit; see `Writer.finish`."""
        with self._health.asking(), self._resting():
            self._writer.finish()

    def close(self) -> None:
        """Release the writer; see `Writer.close`."""
        self._writer.close()
