"""Fair shares: of partitions between members, and of the records of a poll between partitions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from service.stream import Place


def balanced(members: Sequence[int], owners: Mapping[int, int | None]) -> dict[int, int]:
    """Share the partitions so that no member has two more than another.

    Parameters
    ----------
    members
        The living members, in the order they joined.
    owners
        For every partition the member that owns it now, or None. Owners that are not among
        `members` count as None.

    Returns
    -------
    dict
        For every partition the member that should own it; empty without members. Every member
        keeps as many of its own partitions as its share allows, the lowest first.

    Examples
    --------
    >>> balanced([1, 2], {0: 1, 1: 1, 2: 1, 3: None})
    {0: 1, 1: 1, 2: 2, 3: 2}

    """
    if not members:
        return {}
    held: dict[int, list[int]] = {member: [] for member in members}
    for partition, owner in sorted(owners.items()):
        if owner in held:
            held[owner].append(partition)
    quota = _quotas(held, len(owners))
    kept = {member: partitions[: quota[member]] for member, partitions in held.items()}
    homeless = sorted(set(owners).difference(*kept.values()))
    for member in members:
        wanted = quota[member] - len(kept[member])
        kept[member] += homeless[:wanted]
        del homeless[:wanted]
    return dict(sorted((partition, member) for member, owned in kept.items() for partition in owned))


def _quotas(held: Mapping[int, Sequence[int]], partitions: int) -> dict[int, int]:
    """Return each member's share; members with most partitions get the remainder, so that fewer move."""
    share, rest = divmod(partitions, len(held))
    by_holding = sorted(held, key=lambda member: -len(held[member]))  # stable: then by joining
    return {member: share + (place < rest) for place, member in enumerate(by_holding)}


def shares(budget: int, available: Mapping[Place, int], turn: int) -> dict[Place, int]:
    """Divide `budget` records between sources: none waits for another's backlog.

    Small sources get all they have, large ones equal parts of the rest. Where there are more sources
    than records to give, they take turns. Places that get nothing are left out.

    Examples
    --------
    >>> shares(10, {("events", 0): 100, ("events", 1): 2, ("events", 2): 0}, 0)
    {('events', 1): 2, ('events', 0): 8}

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
