"""The poison limit. In: which messages were refused. Out: an error once too many of the latest were.

A bad deploy upstream must not drain a whole topic into the dead letters.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from service.errors import TooManyRejected
from service.transport.base import Output, Record

_OFFENDERS_SHOWN: Final = 3


class PoisonLimit:
    """Watches the share of refused messages among the latest.

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
        self._allowed = ratio * window
        self._latest: deque[bool] = deque(maxlen=window)
        self._rejected = 0
        self._offenders: deque[str] = deque(maxlen=_OFFENDERS_SHOWN)

    def observe(self, record: Record, dead_letter: Output | None) -> None:
        """Take note of a message and, if it was refused, of its dead letter.

        Raises
        ------
        TooManyRejected
            The limit is passed; names the origins of three of the offenders.

        """
        if len(self._latest) == self._latest.maxlen:
            self._rejected -= self._latest[0]
        self._latest.append(dead_letter is not None)
        if dead_letter is None:
            return
        self._rejected += 1
        headers = dict(dead_letter.headers)
        reason, why = (headers[f"error.{part}"].decode() for part in ("reason", "message"))
        self._offenders.append(f"{record.topic}[{record.partition}]@{record.offset}: {reason}: {why}")
        if self._rejected > self._allowed:
            raise self._alarm()

    def _alarm(self) -> TooManyRejected:
        shown = "\n  ".join(self._offenders)
        return TooManyRejected(
            f"{self._rejected} of the last {len(self._latest)} messages are bad, more than "
            f"max_rejected_ratio {self._ratio:g} allows; nothing of this batch was committed. "
            f"The last ones:\n  {shown}",
            hint="mend the producer, or raise --max-rejected-ratio to let them become dead letters",
        )
