"""Logs that try an online learner: late, early, missing, doubled and corrected labels, and bad messages.

Messages are drawn from a seed, in the order of their event time. What must come of them is computed without
the service's own code.
"""

from __future__ import annotations

import heapq
import json
import random
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import count
from math import inf
from typing import Any, NamedTuple

from service.stream.protocol import Record
from tests.service.poison import POISON

BAD_RATIO = 0.02
STEP_MS = 5000
"""Event time from one event to the next: a log of 4,000 events spans hours, so that examples expire."""
LONGEST_DELAY = 300
"""Events that come between an event and its last label at most."""
LABEL_TIMEOUT_SECONDS = 2 * LONGEST_DELAY * STEP_MS / 1000
"""Twice as long as any label takes: what is never labelled expires, and nothing else does."""
LEFT_OUT = "7"
"""The end of the ids of events that a stream with a filter skips."""

_BAD_VALUES = [value for value, _ in POISON.values()]
_BAD = frozenset(_BAD_VALUES)
_WORDS = [f"w{n}" for n in range(400)]


class Message(NamedTuple):
    """A record to be produced."""

    key: bytes
    value: bytes | None
    timestamp_ms: int
    is_label: bool


def chaos_log(n_events: int, *, seed: int, start_ms: int) -> Iterator[Message]:
    """Make a log of `n_events` events and what belongs to them, in order of event time.

    Of the events, a quarter carry their label, a tenth get it before they come, 45 % later and a fifth
    never; some labels come twice, some are corrected; some events come twice, some with other content.
    """
    draw = random.Random(seed)
    order = count()
    coming: list[tuple[int, int, bytes, Any]] = []

    def send(at: float, event_id: str, value: Any) -> None:
        heapq.heappush(coming, (max(0, round(at * STEP_MS)), next(order), event_id.encode(), value))

    for n in range(n_events):
        _plan_event(f"e-{n}", n, draw, send)
        if draw.random() < BAD_RATIO:
            send(n, f"e-{draw.randrange(n_events)}", draw.choice(_BAD_VALUES))
    while coming:
        at_ms, _, key, value = heapq.heappop(coming)
        is_label = isinstance(value, dict) and value.keys() == {"id", "label"}
        written = json.dumps(value).encode() if isinstance(value, dict) else value
        yield Message(key, written, start_ms + at_ms, is_label)


def _plan_event(event_id: str, n: int, draw: random.Random, send: Any) -> None:
    truth, kind = draw.random() < 0.5, draw.random()
    event = {"id": event_id, **_content(truth, draw)}
    later = 1 + min(LONGEST_DELAY - 2, draw.expovariate(1 / 40))
    if kind < 0.25:
        event["label"] = truth
    elif kind < 0.35:
        send(n - draw.uniform(1, 60), event_id, {"id": event_id, "label": truth})
    elif kind < 0.80:
        send(n + later, event_id, {"id": event_id, "label": truth})
    send(n, event_id, event)
    if draw.random() < 0.05:  # the same label again, or a different one
        send(n + later + 1, event_id, {"id": event_id, "label": truth is (draw.random() < 0.5)})
    if draw.random() < 0.03:
        send(n + draw.uniform(0, 100), event_id, event)
    if draw.random() < 0.02:
        send(n + draw.uniform(0, 100), event_id, {"id": event_id, **_content(truth, draw)})


def _content(truth: bool, draw: random.Random) -> dict[str, Any]:
    """Make features whose sums depend on the order they are added in, and a text that tells a little.

    Of the numbers, two are in each event: `auto` takes them as columns, and fits trees to them.
    """
    first = 0 if truth else 150
    words = [draw.choice(_WORDS[first : first + 250]) for _ in range(6)]
    names = ["n1", "n2", *(f"x{draw.randrange(30)}" for _ in range(5))]
    features = {name: draw.gauss(0.1 if truth else -0.1, 1.0) for name in names}
    return {"features": features, "text": " ".join(words)}


@dataclass
class Demand:
    """What must come of one partition's log, read without the service's own code."""

    predictions: Counter[str] = field(default_factory=Counter)
    """How often each event id must be predicted."""
    dead_letters: list[bytes | None] = field(default_factory=list)
    outcomes: set[str] = field(default_factory=set)
    """Ids whose first label comes after their event. Only where the labels share the events' topic."""
    labelled: set[str] = field(default_factory=set)
    """Ids that have an event and a label, in whatever order."""


def demand_of(records: Iterable[Record], on_timeout_ms: float = inf, *, filtered: bool = False) -> Demand:
    """Read a partition's records in order: events, labels, bad ones.

    After `on_timeout_ms` an event without a label gets one. Nothing may be let go before it comes again.
    Events whose id ends with `LEFT_OUT` are passed over if the stream is `filtered`.
    """
    demand = Demand()
    labels: set[str] = set()
    waiting: dict[str, int] = {}
    processing_time_ms = 0
    for record in records:
        processing_time_ms = max(processing_time_ms, record.timestamp_ms)
        if record.value in _BAD:
            demand.dead_letters.append(record.value)
            continue
        message = json.loads(record.value or b"")
        event_id = message["id"]
        is_event = "features" in message
        if filtered and is_event and event_id.endswith(LEFT_OUT):
            continue
        if "label" in message:
            if not is_event and event_id in demand.predictions and event_id not in labels:
                demand.outcomes.add(event_id)
            labels.add(event_id)
        if is_event:
            demand.predictions[event_id] += 1
            if event_id not in labels:
                waiting.setdefault(event_id, record.timestamp_ms)
    demand.outcomes |= {
        name for name, came_ms in waiting.items() if came_ms < processing_time_ms - on_timeout_ms
    }
    demand.labelled = labels & demand.predictions.keys()
    return demand
