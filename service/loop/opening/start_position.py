"""Find where a partition begins that has processed nothing, at the first record or at a time."""

from __future__ import annotations

import logging
from dataclasses import replace

from service.checkpoints.identity import START, START_MS
from service.loop.recovery import Restored
from service.messages.event_times import event_time_ms
from service.settings.load import Settings
from service.stream import Transport

_log = logging.getLogger(__name__)


def from_start(transport: Transport, settings: Settings, partition: int, restored: Restored) -> Restored:
    """Let a partition that begins do so at `start_from`; return one that has begun as it is.

    It begins at the first record of that time or later, and skips what is earlier and lies behind.

    Raises `TransportError` where the stream cannot be read.
    """
    if not settings.start_from:
        return restored
    time_ms = event_time_ms(settings.start_from)
    if restored.snapshot_offsets:
        if restored.began.get(START_MS, time_ms if START in restored.began else None) != time_ms:
            began = "at another time" if START in restored.began else "without it"
            _log.warning("start_from has no effect: partition %d had begun %s, and goes on", partition, began)
        return restored
    offsets = {topic: transport.first_at(topic, partition, time_ms) for topic in restored.offsets}
    bounds = transport.bounds_of([(topic, partition) for topic in offsets])
    for (topic, _), (low, high) in bounds.items():
        level = logging.WARNING if low < offsets[topic] == high else logging.INFO
        _log.log(
            level,
            "start_from: %s[%d] begins at offset %d; it has %d to %d",
            topic,
            partition,
            offsets[topic],
            low,
            high - 1,
        )
    restored.processor.start_ms = time_ms
    return replace(restored, offsets=offsets, began={**restored.began, START: offsets, START_MS: time_ms})
