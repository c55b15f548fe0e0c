"""The state of the loop, from which `/livez` and `/readyz` are answered."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from math import inf
from typing import NamedTuple

from service.clock import SYSTEM_CLOCK, Clock

_log = logging.getLogger(__name__)


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
    state, reason
        The initial state, and its reason.
    ready_timeout_seconds
        How long one step of the loop may take before the loop is not ready.
    clock
        Measures how long a step takes.

    """

    def __init__(
        self,
        state: State = State.STARTING,
        reason: str = "joining the consumer group",
        *,
        ready_timeout_seconds: float = inf,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self._condition = (state, reason)
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
