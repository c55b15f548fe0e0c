"""Count the records of two topics that a service has processed too early, from its answers.

An event's prediction and a label's outcome stand on the predictions topic in the order in which the two
were taken; with times that put every label after its event, each record of the input has an answer there.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from service.stream import Record


@dataclass(frozen=True, slots=True)
class Backlog:
    """Events, and the labels that came some time after them; both in the order of their times."""

    events: Sequence[tuple[int, bytes]]
    labels: Sequence[tuple[int, bytes]]


def backlog(records: int, *, start_ms: int, seed: int = 5) -> Backlog:
    """Make `records` records: half of them events, one a millisecond, and half of them their labels."""
    chance = random.Random(seed)
    times = {f"e{n}": start_ms + n for n in range(records // 2)}
    events = [
        (time_ms, json.dumps({"id": name, "features": {f"f{chance.randrange(50)}": 1.0}}).encode())
        for name, time_ms in times.items()
    ]
    labels = sorted(
        (
            time_ms + 1 + int(chance.expovariate(1 / 300)),
            json.dumps({"id": name, "label": chance.random() < 0.4}),
        )
        for name, time_ms in times.items()
    )
    return Backlog(events, [(time_ms, label.encode()) for time_ms, label in labels])


def taken_too_early(answers: Sequence[Record], events: Sequence[Record], labels: Sequence[Record]) -> int:
    """Count the records of a partition that were taken while an earlier one of the other topic was there."""
    times = {name: _times(records) for name, records in (("event", events), ("label", labels))}
    waiting = {name: iter(sorted(found.values())) for name, found in times.items()}
    heads = {name: next(rest, None) for name, rest in waiting.items()}
    too_early = 0
    for kind, event_id in _taken(answers):
        other = heads["label" if kind == "event" else "event"]
        at = times[kind][event_id]
        # Of the same time, the event comes first.
        too_early += other is not None and (other < at or (other == at and kind == "label"))
        heads[kind] = next(waiting[kind], None)
    assert heads == {"event": None, "label": None}, "not everything was taken"
    return too_early


def _times(records: Iterable[Record]) -> dict[str, int]:
    return {json.loads(record.value or b"")["id"]: record.timestamp_ms for record in records}


def _taken(answers: Iterable[Record]) -> Iterator[tuple[str, str]]:
    for answer in answers:
        message = json.loads(answer.value or b"")
        if "truth" in message:  # its label was taken before it, nobody knows when
            yield "label", message["id"]
        yield "event" if "score" in message else "label", message["id"]
