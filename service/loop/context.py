"""What all parts of the loop share: the stream, the settings, the clock.

`serve` makes one, and so does each command that opens a task; tests pass their own clock.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from prometheus_client import CollectorRegistry

from service.clock import SYSTEM_CLOCK, Clock
from service.monitoring.health import Health
from service.monitoring.live_models import LiveModels
from service.monitoring.metrics import Metrics
from service.settings.load import Settings
from service.stream.protocol import Transport


@dataclass(frozen=True, slots=True)
class Context:
    """The stream, the settings, metrics and health, and the only sources of time and randomness."""

    stream: Transport
    settings: Settings
    metrics: Metrics
    """What `/metrics` shows."""
    health: Health = field(default_factory=Health)
    """What `/livez` and `/readyz` are answered from."""
    live: LiveModels | None = None
    """Where models are published for the API and the page; None: they are not published."""
    clock: Clock = SYSTEM_CLOCK
    random: Random = field(default_factory=Random)
    """Draws the waits before further attempts; not a source of secrets."""


def quiet_context(stream: Transport, settings: Settings) -> Context:
    """Return the context of a command: its metrics and health are not served."""
    return Context(stream, settings, Metrics(CollectorRegistry()))
