"""The loop of one process, as `serve` and each of its workers run it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from service.loop.departure import Departure
from service.loop.runner import Runner
from service.monitoring.health import Health
from service.monitoring.live_models import LiveModels
from service.monitoring.metrics import Metrics
from service.monitoring.stall_log import stalls_logged
from service.monitoring.tracing import make_tracer
from service.partition.factory import open_stream
from service.settings.load import Settings
from service.workers.gc_tuning import collect_less_often
from service.workers.malloc_tuning import keep_freed_memory

_TURN_SECONDS: Final = 0.0005
"""For how long a thread keeps the interpreter from others: a request needs it several times."""


@contextmanager
def opened_loop(
    settings: Settings, url: str, metrics: Metrics, health: Health, live: LiveModels
) -> Iterator[tuple[Runner, Departure]]:
    """Open the stream, and yield the loop that processes it and what ends the process if that is stuck."""
    tracer = make_tracer()
    with Departure(lambda: health.asking_since) as departure, stalls_logged(health):
        with health.asking():
            transport = open_stream(settings, url)
        try:
            runner = Runner(transport, settings, metrics=metrics, health=health, live=live, tracer=tracer)
            collect_less_often()
            keep_freed_memory()
            sys.setswitchinterval(_TURN_SECONDS)
            yield runner, departure
        finally:
            with health.asking():  # clients wait for a broker that is gone
                transport.close()
