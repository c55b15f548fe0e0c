"""Topics full of events, filled once for all measures that work through the same."""

from __future__ import annotations

import functools

from .examples import drawn_events, text_events, with_late_labels
from .stream import shared_stream

LABEL_DELAY = 100
"""Events between an event and its label, where that comes late."""


@functools.cache
def inline_labels(count: int) -> str:
    """Return a topic of so many events of 12 numbers, labels included."""
    stream = shared_stream()
    topic = stream.create("events")
    stream.fill(topic, drawn_events(count))
    return topic


@functools.cache
def late_labels(count: int) -> str:
    """Return a topic of the same events and, each `LABEL_DELAY` events later, of their labels."""
    stream = shared_stream()
    topic = stream.create("events")
    stream.fill(topic, with_late_labels(count, LABEL_DELAY))
    return topic


@functools.cache
def texts(count: int) -> str:
    """Return a topic of so many labelled SMS texts."""
    stream = shared_stream()
    topic = stream.create("events")
    stream.fill(topic, text_events(count))
    return topic
