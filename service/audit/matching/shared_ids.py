"""Event ids that lie in several partitions: compare the numbers of their events and outputs.

A prediction or an outcome names the id of its event and not its partition, so it is not known which of
several events it belongs to.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from collections.abc import Set as AbstractSet
from typing import Final

from service.audit.findings import Fault, Finding, Place
from service.audit.letters import Letters
from service.audit.matching.outputs import Found
from service.audit.matching.window import Expected
from service.partitioner import partition_for_key

NONE: Final[frozenset[str]] = frozenset()


class SharedIds:
    """Counts the events and predictions of some ids.

    Parameters
    ----------
    ids
        Those that lie in several partitions.

    """

    def __init__(self, ids: AbstractSet[str] = NONE) -> None:
        self.ids = ids
        self._due: defaultdict[str, list[Place]] = defaultdict(list)
        self._ahead: defaultdict[str, int] = defaultdict(int)
        self._found: defaultdict[str, list[Place]] = defaultdict(list)

    @property
    def n_paired(self) -> int:
        """Return the number of predictions that have an event up to the last commit."""
        return sum(min(len(due), len(self._found[event_id])) for event_id, due in self._due.items())

    def expect(self, expected: Expected) -> None:
        """Count an event."""
        if expected.event.is_ahead:
            self._ahead[expected.event.event_id] += 1
        else:
            self._due[expected.event.event_id].append(expected.event.place)

    def find(self, found: Found) -> None:
        """Count a prediction."""
        self._found[found.event_id].append(found.place)

    def is_lacking(self) -> bool:
        """Return whether there are more events than predictions."""
        return any(len(due) > len(self._found[event_id]) for event_id, due in self._due.items())

    def has_surplus(self) -> bool:
        """Return whether there are more predictions than events."""
        return any(len(found) > self._most(event_id) for event_id, found in self._found.items())

    def contradictions(self, letters: Letters) -> Iterator[Finding]:
        """Yield what is missing and what is doubled; an event that was refused is due no prediction."""
        for event_id in self.ids:
            due = [place for place in self._due[event_id] if place not in letters]
            found = self._found[event_id]
            if len(found) < len(due):
                message = f"{len(found)} predictions of the {len(due)} events with this id"
                yield Finding(Fault.MISSING, due[-1], event_id, message)
            elif len(found) > self._most(event_id):
                message = f"{len(found)} predictions of the {self._most(event_id)} events with this id"
                yield Finding(Fault.DOUBLED, found[-1], event_id, message)

    def _most(self, event_id: str) -> int:
        return len(self._due[event_id]) + self._ahead[event_id]


def find_shared(events: Callable[[], Iterable[tuple[str, int]]], n_partitions: int) -> AbstractSet[str]:
    """Return the ids that lie in several partitions; read the events twice if any key is not an id.

    Parameters
    ----------
    events
        Reads the events: the id and the partition of each.
    n_partitions
        Of the events topic. An id that lies in several is in another one than its own key would choose.

    """
    astray = {
        event_id
        for event_id, partition in events()
        if partition_for_key(event_id.encode(), n_partitions) != partition
    }
    places: defaultdict[str, set[int]] = defaultdict(set)
    for event_id, partition in events() if astray else ():
        if event_id in astray:
            places[event_id].add(partition)
    return {event_id for event_id, partitions in places.items() if len(partitions) > 1}
