"""Keep the committed states of other members' partitions, so that taking over is quick.

Kafka Streams has standby tasks for this. Neither Kafka client lets the group's assignor prefer the member
that has a state (librdkafka has no public assignors), so each member keeps all states that it does not own.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from math import inf
from threading import Condition
from typing import Final

from service.errors import CheckpointError, TransportError
from service.loop.context import Context
from service.loop.read_ahead import KeptState, ReadAhead
from service.loop.restore import restore

_log = logging.getLogger(__name__)

INTERVAL_SECONDS: Final = 1.0
"""Seconds between two reads of what was committed."""
RETRY_SECONDS: Final = 10.0
"""How long to wait before retrying a partition whose state could not be kept."""


class Standby:
    """Keeps the states of partitions of other members.

    `advance` and `take` may be called on different threads.

    Parameters
    ----------
    context
        The stream, the settings and the time.
    is_over
        Returns whether the process is closing, so that the states are no longer needed.

    """

    def __init__(self, context: Context, is_over: Callable[[], bool]) -> None:
        self._stream = context.stream
        self._settings = context.settings
        self._clock = context.clock
        self._is_over = is_over
        self._states: dict[int, KeptState] = {}
        self._busy: set[int] = set()
        """Partitions whose states are being advanced; they are missing from the kept states meanwhile."""
        self._not_before: dict[int, float] = {}
        self._changed = Condition()
        self._due = 0.0
        """When to read again; infinity while a read is under way."""

    def __len__(self) -> int:
        """Count the states."""
        return len(self._states)

    @property
    def is_due(self) -> bool:
        """Whether it is time to `begin`, and then to `advance`."""
        return self._clock.monotonic() >= self._due

    def begin(self) -> None:
        """Announce a call of `advance`, which may follow on any thread."""
        self._due = inf

    def advance(self, partitions: Collection[int]) -> None:
        """Bring the states of these partitions up to the last commit; drop the states of others."""
        started = self._clock.monotonic()
        try:
            with self._changed:
                self._states = {each: state for each, state in self._states.items() if each in partitions}
                known = [*self._states]
            if known:
                self._work_on(known)
            for partition in sorted({*partitions}.difference(known)):
                now = self._clock.monotonic()
                if self._is_over() or now - started > INTERVAL_SECONDS:
                    break
                if now >= self._not_before.get(partition, now):
                    self._not_before[partition] = now + RETRY_SECONDS
                    self._work_on([partition])
        except TransportError as error:
            _log.debug("standby: %s", error)
        finally:
            self._due = self._clock.monotonic() + INTERVAL_SECONDS

    def take(self, partitions: Collection[int]) -> dict[int, KeptState]:
        """Remove and return the kept states of partitions; wait for a state that is being advanced."""
        with self._changed:
            self._changed.wait_for(lambda: self._busy.isdisjoint(partitions))
            return {each: self._states.pop(each) for each in partitions if each in self._states}

    def _work_on(self, partitions: Sequence[int]) -> None:
        with self._changed:
            kept = {each: self._states.pop(each) for each in partitions if each in self._states}
            self._busy.update(partitions)
        try:
            ahead = ReadAhead(self._stream, self._settings, partitions, kept)
            for partition in partitions:
                if self._is_over():
                    break
                kept.pop(partition, None)  # an error from here on may leave the state half changed
                state = self._restored(ahead, partition)
                self._release({} if state is None else {partition: state}, [partition])
        finally:
            self._release(kept, partitions)

    def _release(self, states: Mapping[int, KeptState], partitions: Collection[int]) -> None:
        with self._changed:
            self._states |= states
            self._busy.difference_update(partitions)
            self._changed.notify_all()

    def _restored(self, ahead: ReadAhead, partition: int) -> KeptState | None:
        log, point = ahead.take(partition)
        if log is None or not log.snapshots:
            return None
        try:
            restored = restore(ahead, self._settings, partition, log=log, point=point)
        except CheckpointError as error:
            _log.debug("standby: %s", error)
            return None
        return KeptState.of(restored, self._settings, log, ahead.log_end(partition))
