"""Search the input once more for the places of events with given ids."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from service.audit.findings import Place
from service.audit.partition import Partition
from service.stream import Transport


class Sighting(NamedTuple):
    """An event with one of the wanted ids."""

    place: Place
    timestamp_ms: int


def events_with(
    ids: set[str], transport: Transport, partitions: Iterable[Partition]
) -> Mapping[str, Sequence[Sighting]]:
    """Read the input once more, and find the events with these ids."""
    found: defaultdict[str, list[Sighting]] = defaultdict(list)
    if not ids:
        return found
    for partition in partitions:
        for topic, first in partition.first.items():
            end = partition.history.offsets.get(topic, 0)
            for record in transport.read(topic, partition.number, first, end):
                event_id = partition.input.event_id(record)
                if event_id in ids:
                    found[event_id].append(Sighting(Place(*record[:3]), record.timestamp_ms))
    return found
