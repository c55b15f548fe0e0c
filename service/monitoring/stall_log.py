"""Warn about a loop that is stuck, from another thread.

The loop's own thread cannot warn: it waits.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import Final

from service.monitoring.health import Health, Stall

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
