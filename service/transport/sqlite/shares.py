"""Divide the records of one poll fairly between its sources."""

from __future__ import annotations

from collections.abc import Mapping

Source = tuple[int, str]
"""(partition, topic), unlike `service.stream.Place`, which is (topic, partition)."""


def shares(budget: int, available: Mapping[Source, int], turn: int) -> dict[Source, int]:
    """Divide `budget` records between sources: none waits for another's backlog.

    Small sources get all they have, large ones equal parts of the rest. Where there are more sources
    than records to give, they take turns. Sources that get nothing are left out.

    Examples
    --------
    >>> shares(10, {(0, "events"): 100, (1, "events"): 2, (2, "events"): 0}, 0)
    {(1, 'events'): 2, (0, 'events'): 8}

    """
    sources = [source for source in available if available[source] > 0]
    first = turn % max(1, len(sources))
    sources = (sources[first:] + sources[:first])[:budget]
    granted = {}
    for left, source in zip(
        range(len(sources), 0, -1), sorted(sources, key=available.__getitem__), strict=True
    ):
        granted[source] = min(available[source], budget // left)
        budget -= granted[source]
    return granted
