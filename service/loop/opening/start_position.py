"""Find where a partition begins that has processed nothing: at the first record, or at a time."""

from __future__ import annotations

import logging
from dataclasses import replace

from service.checkpoints.identity import START
from service.loop.recovery import Restored
from service.messages.event_times import event_time_ms
from service.settings.load import Settings
from service.stream import Transport

_log = logging.getLogger(__name__)


def from_start(transport: Transport, settings: Settings, partition: int, restored: Restored) -> Restored:
    """Let a partition that begins do so at `start_from`; return one that has begun as it is.

    Raises `TransportError` where the stream cannot be read.
    """
    if not settings.start_from:
        return restored
    if restored.snapshot_offsets:
        if START not in restored.began:
            _log.warning(
                "start_from has no effect: partition %d had begun without it, and goes on", partition
            )
        return restored
    time_ms = event_time_ms(settings.start_from)
    offsets = {topic: offset_at(transport, topic, partition, time_ms) for topic in restored.offsets}
    for topic, offset in offsets.items():
        low, high = transport.bounds(topic, partition)
        level = logging.WARNING if low < offset == high else logging.INFO
        _log.log(
            level,
            "start_from: %s[%d] begins at offset %d; it has %d to %d",
            topic,
            partition,
            offset,
            low,
            high - 1,
        )
    return replace(restored, offsets=offsets, began={**restored.began, START: offsets})


def offset_at(transport: Transport, topic: str, partition: int, time_ms: int) -> int:
    """Find the first record at or after a time; the end of the topic if there is none.

    Records lie in the order of their times, about: where they do not, it is one of those around the time.
    """
    low, high = transport.bounds(topic, partition)
    while low < high:
        middle = (low + high) // 2
        record = next(transport.read(topic, partition, middle, high), None)
        if record is None or record.timestamp_ms >= time_ms:
            high = middle
        else:
            low = record.offset + 1
    return low
