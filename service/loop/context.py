"""What all parts of the loop work with."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from service.clock import SYSTEM_CLOCK, Clock
from service.monitoring.health import Health
from service.monitoring.live_models import LiveModels
from service.monitoring.metrics import Metrics
from service.settings.load import Settings
from service.stream.protocol import Transport


@dataclass(frozen=True, slots=True)
class Context:
    """The stream, the settings, where to report, and the only sources of time and of chance."""

    stream: Transport
    settings: Settings
    metrics: Metrics
    health: Health = field(default_factory=Health)
    live: LiveModels | None = None
    """Where models are published for the API and the page; None: nowhere."""
    clock: Clock = SYSTEM_CLOCK
    random: Random = field(default_factory=Random)
    """Decides how long to wait before another attempt; there is nothing to guess."""
