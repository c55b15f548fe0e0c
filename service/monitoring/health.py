"""The state of the loop, from which `/livez` and `/readyz` are answered; a stuck loop is logged."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from math import inf
from threading import Event, Thread
from typing import Final, NamedTuple

from service.clock import SYSTEM_CLOCK, Clock


class State(StrEnum):
    """The life of the loop.

    starting → ready ⇄ unavailable → stopped, from any of the first three.
    """

    STARTING = "starting"
    READY = "ready"
    UNAVAILABLE = "unavailable"
    STOPPED = "stopped"


class Stall(NamedTuple):
    """One thing that the loop has begun and not ended."""

    since: float
    """Monotonic seconds."""
    what: str


class Health:
    """The state of the loop: the loop writes it, the HTTP server reads it, also while the loop is stuck.

    Parameters
    ----------
    state, reason
        To begin with.
    ready_timeout_seconds
        How long one thing that the loop has begun may take: after that it is not ready.
    clock
        Measures how long it takes.

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
        self.asking_since: float | None = None
        """When (monotonic seconds) the loop has begun to wait for an answer of the stream, if it does."""
        self.beside: Stall | None = None
        """What goes on beside the loop, on another thread: the opening of partitions."""

    def become(self, state: State, reason: str = "") -> None:
        """Change the state; `reason` says why it is not ready."""
        self._condition = (state, reason)

    @contextmanager
    def doing(self, what: str) -> Iterator[None]:
        """Note what is under way meanwhile, such as "a poll"; of nested ones, the inner one counts."""
        outer, self._under_way = self._under_way, Stall(self._clock.monotonic(), what)
        try:
            yield
        finally:
            self._under_way = outer

    @contextmanager
    def asking(self, what: str = "") -> Iterator[None]:
        """Note that the loop waits for the stream's answer meanwhile, and, as `doing`, what is under way."""
        outer, self.asking_since = (self._under_way, self.asking_since), self._clock.monotonic()
        if what:
            self._under_way = Stall(self.asking_since, what)
        try:
            yield
        finally:
            self._under_way, self.asking_since = outer

    @property
    def stall(self) -> Stall | None:
        """What has been under way for longer than it may, if anything has."""
        for each in (self._under_way, self.beside):
            if each is not None and self.seconds_of(each) > self._ready_timeout_seconds:
                return each
        return None

    def seconds_of(self, stall: Stall) -> float:
        """Return for how long something has been under way."""
        return self._clock.monotonic() - stall.since

    @property
    def condition(self) -> tuple[State, str]:
        """The state now, and why it is not ready."""
        state, reason = self._condition
        if state is State.STARTING and (beside := self.beside) is not None:
            return state, f"{beside.what} has been under way for {self.seconds_of(beside):.0f} s"
        if state is State.READY and (stall := self.stall) is not None:
            return State.UNAVAILABLE, f"{stall.what} has been under way for {self.seconds_of(stall):.0f} s"
        return state, reason

    @property
    def state(self) -> State:
        """The state now."""
        return self.condition[0]

    @property
    def is_live(self) -> bool:
        """Whether the loop still runs, even if it only waits for the stream."""
        return self.state is not State.STOPPED


_LOOK_SECONDS: Final = 0.5

_log = logging.getLogger(__name__)


@contextmanager
def stalls_logged(health: Health, look_seconds: float = _LOOK_SECONDS) -> Iterator[None]:
    """Log from a thread of its own, meanwhile, what takes the loop longer than `ready_timeout_seconds`."""
    has_ended = Event()
    watcher = Thread(target=_watch, args=(health, has_ended, look_seconds), name="stall log", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        has_ended.set()
        watcher.join()


def _watch(health: Health, has_ended: Event, look_seconds: float) -> None:
    logged: Stall | None = None
    while not has_ended.wait(look_seconds):
        stall = health.stall
        if logged is not None and (stall is None or stall.since != logged.since):
            _log.info("%s has ended after about %.0f s", logged.what, health.seconds_of(logged))
            logged = None
        if stall is not None and logged is None:
            _log.warning("%s has been under way for %.0f s: not ready", stall.what, health.seconds_of(stall))
            logged = stall
