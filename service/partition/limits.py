"""Limits of a batch: of event times, of the share of messages that are refused, and of a thread's turn.

A bad deploy upstream must not drain a whole topic into the dead letters. This module is never compiled: the
interpreter gives way to a thread that waits for the GIL when a Python function begins.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextvars import ContextVar
from typing import Final

from service.errors import TooManyRejected
from service.messages.rejection import Rejection, rejection_of_time
from service.stream.protocol import Output, Record

leave_for_others: Final[ContextVar[Callable[[], None] | None]] = ContextVar("leave_for_others", default=None)
"""Leaves the lock that this thread holds for a batch to those who wait for it, and takes it back."""


def give_way() -> None:
    """Let a thread that waits for the GIL have it, and one that waits for the lock of this batch.

    The interpreter sees to the first when a Python function begins, so this one is never compiled. Compiled
    code calls nothing of the kind by itself: for a whole batch, no other thread would commit or answer.
    """
    if (leave := leave_for_others.get()) is not None:
        leave()


_EARLIEST_MS: Final = -(2**63)
_LATEST_MS: Final = 2**63 - 1
_OFFENDERS_SHOWN: Final = 3


class TimeBounds:
    """From 1970 to some time ahead of the clock; no bound until `set_now` is called with a time.

    Parameters
    ----------
    max_ahead_seconds
        How far an event's time may be ahead.

    """

    def __init__(self, max_ahead_seconds: float) -> None:
        self._max_ahead_ms = int(max_ahead_seconds * 1000)
        self.set_now(None)

    def set_now(self, now_ms: int | None) -> None:
        """Set the time, in milliseconds since the epoch; None: no bound."""
        self.earliest_ms = 0 if now_ms is not None else _EARLIEST_MS
        self.latest_ms = now_ms + self._max_ahead_ms if now_ms is not None else _LATEST_MS

    def check(self, timestamp_ms: int, place: str) -> None:
        """Raise the `rejection` of a time that is out of bounds."""
        if not self.earliest_ms <= timestamp_ms <= self.latest_ms:
            raise self.rejection(timestamp_ms, place)

    def rejection(self, timestamp_ms: int, place: str) -> Rejection:
        """Return the refusal of a time that is out of bounds; `place` says where in the record it was."""
        return rejection_of_time(timestamp_ms, self.latest_ms - self._max_ahead_ms, place)


class RejectionLimit:
    """Limits the share of refused messages among the latest.

    Parameters
    ----------
    ratio
        The share, 0-1, above which `observe` raises; 1 never does.
    window
        Messages over which the share is taken. Until so many have come, the missing ones count as good,
        so a few bad messages at the start are no alarm.

    """

    def __init__(self, ratio: float, window: int) -> None:
        self._ratio = ratio
        self._window = window
        self._allowed = ratio * window
        self._seen = 0
        self._refused: deque[int] = deque()
        """Sequence numbers of the refused messages among the latest."""
        self._offenders: deque[str] = deque(maxlen=_OFFENDERS_SHOWN)

    def observe(self, records: Sequence[Record], dead_letters: Iterable[tuple[int, Output]]) -> None:
        """Count a batch and its dead letters, each with the position of its record.

        Raises
        ------
        TooManyRejected
            The limit was exceeded; the message names the origins of the last three.

        """
        for position, letter in dead_letters:
            self._refuse(self._seen + position, records[position], letter)
        self._seen += len(records)

    def _refuse(self, number: int, record: Record, dead_letter: Output) -> None:
        self._refused.append(number)
        while self._refused[0] <= number - self._window:
            self._refused.popleft()
        headers = dict(dead_letter.headers)
        reason, why = (headers[f"error.{part}"].decode() for part in ("reason", "message"))
        self._offenders.append(f"{record.topic}[{record.partition}]@{record.offset}: {reason}: {why}")
        if len(self._refused) > self._allowed:
            raise self._alarm(min(number + 1, self._window))

    def _alarm(self, n_latest: int) -> TooManyRejected:
        shown = "\n  ".join(self._offenders)
        return TooManyRejected(
            f"{len(self._refused)} of the last {n_latest} messages are bad, more than "
            f"max_rejected_ratio {self._ratio:g} allows; nothing of this batch was committed. "
            f"The last ones:\n  {shown}",
            hint="mend the producer (or the model, where it says model_error), or raise --max-rejected-ratio "
            "to let them become dead letters",
        )
