"""The state of the loop, from which `/livez` and `/readyz` are answered, and whether its stream answers."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from math import inf
from typing import Final, NamedTuple

from service.clock import SYSTEM_CLOCK, Clock
from service.errors import StorageFull, TransportError, TransportUnavailable
from service.stream.protocol import TopicPartition

_log = logging.getLogger(__name__)

_SILENT_SECONDS: Final = 1.0
"""How long polls may return nothing before the loop asks the stream for the ends of its topics."""


class State(StrEnum):
    """The life of the loop.

    starting → ready ⇄ unavailable → stopped, from any of the first three.
    """

    STARTING = "starting"
    READY = "ready"
    UNAVAILABLE = "unavailable"
    STOPPED = "stopped"


class Stall(NamedTuple):
    """An unfinished step of the loop."""

    since: float
    """Monotonic seconds."""
    what: str


class Health:
    """The state of the loop: the loop writes it, the HTTP server reads it, also while the loop is stuck.

    Parameters
    ----------
    ready_timeout_seconds
        How long one step of the loop may take before the loop is not ready.
    clock
        Measures how long a step takes.

    """

    def __init__(self, *, ready_timeout_seconds: float = inf, clock: Clock = SYSTEM_CLOCK) -> None:
        self._condition = (State.STARTING, "joining the consumer group")
        self._ready_timeout_seconds = ready_timeout_seconds
        self._clock = clock
        self._under_way: Stall | None = None
        self._logged: Stall | None = None
        self.waiting_since: float | None = None
        """When (monotonic seconds) the loop began to wait for the stream; None if it does not."""
        self.in_parallel: Stall | None = None
        """Work on another thread: the opening of partitions."""

    def become(self, state: State, reason: str = "") -> None:
        """Change the state; `reason` is why the loop is not ready."""
        self._condition = (state, reason)

    @contextmanager
    def doing(self, what: str) -> Iterator[None]:
        """Note the step that runs in the context, such as "a poll"; of nested steps, the inner one counts."""
        outer, self._under_way = self._under_way, Stall(self._clock.monotonic(), what)
        try:
            yield
        finally:
            self._under_way = outer

    @contextmanager
    def waiting_for_stream(self, what: str = "") -> Iterator[None]:
        """Note that the loop waits for the stream in the context and, as `doing`, which step it is."""
        outer, self.waiting_since = (self._under_way, self.waiting_since), self._clock.monotonic()
        if what:
            self._under_way = Stall(self.waiting_since, what)
        try:
            yield
        finally:
            self._under_way, self.waiting_since = outer

    @property
    def stall(self) -> Stall | None:
        """The step that takes longer than allowed; None if there is none."""
        for each in (self._under_way, self.in_parallel):
            if each is not None and self._clock.monotonic() - each.since > self._ready_timeout_seconds:
                return each
        return None

    @property
    def condition(self) -> tuple[State, str]:
        """The state, and why the loop is not ready; the first call logs a step that takes too long."""
        state, reason = self._condition
        if state is State.STARTING and (parallel := self.in_parallel) is not None:
            return state, self._under_way_for(parallel)
        if state is State.READY and (stall := self.stall) is not None:
            state, reason = State.UNAVAILABLE, self._under_way_for(stall)
            if stall is not self._logged:
                self._logged = stall
                _log.warning("not ready: %s", reason)
        return state, reason

    def _under_way_for(self, stall: Stall) -> str:
        return f"{stall.what} has been under way for {self._clock.monotonic() - stall.since:.0f} s"

    @property
    def state(self) -> State:
        """The current state."""
        return self.condition[0]

    @property
    def is_live(self) -> bool:
        """Whether the loop still runs, even if it only waits for the stream."""
        return self.state is not State.STOPPED


class Availability:
    """Remembers whether the stream answered when it was last asked.

    Parameters
    ----------
    health
        Each error makes it unavailable.
    clock
        Measures how long the stream has been silent.

    Attributes
    ----------
    is_unreachable : bool
        Whether the stream did not answer.
    waits_for_space : bool
        Whether a full disk is waited for; otherwise it ends the loop.

    """

    def __init__(self, health: Health, clock: Clock) -> None:
        self._health = health
        self._clock = clock
        self._heard_at = self._clock.monotonic()
        self.is_unreachable, self.waits_for_space = False, True
        self._waits_for = ""

    def report_or_raise(self, error: TransportError, wait_seconds: float) -> None:
        """Report an error of an operation that will be retried in `wait_seconds`, or raise it."""
        if isinstance(error, StorageFull) and not self.waits_for_space:
            raise error
        _log.warning("%s; trying again in %.1f s", error, wait_seconds, extra={"hint": error.hint})
        self.note_error(error)
        self._health.become(State.UNAVAILABLE, str(error))

    def waits_for(self, topic_partitions: Sequence[TopicPartition]) -> bool:
        """Report the topic partitions whose records other records wait for; return whether there are any."""
        names = ", ".join(f"{topic}[{partition}]" for topic, partition in topic_partitions)
        if names and names != self._waits_for:
            _log.warning("waiting for %s: its records may be earlier than the records already read", names)
        self._waits_for = names
        if names:
            self._health.become(State.UNAVAILABLE, f"waiting for {names}")
        return bool(names)

    @property
    def is_silent(self) -> bool:
        """Whether the stream has sent nothing for a while: it may be frozen or unreachable."""
        return self._clock.monotonic() - self._heard_at >= _SILENT_SECONDS

    def note_contact(self) -> None:
        """Note that the stream has answered or delivered records."""
        self._heard_at = self._clock.monotonic()

    def report_silence(self, error: TransportUnavailable) -> None:
        """Report an unanswered request: the stream counts as silent until it answers."""
        self._heard_at = -inf
        self._health.become(State.UNAVAILABLE, str(error))

    def note_error(self, error: TransportError) -> None:
        """Note whether an error means that the stream is unreachable."""
        self.is_unreachable = isinstance(error, TransportUnavailable)
