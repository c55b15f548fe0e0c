"""A partition's contribution to a round, as a record of its lane.

The records of a lane have the group as their key, and headers with the numbers of `Contribution` in decimal.
Their value is what `perceptron_core.sharing.SharedModel.contribute` wrote; empty in the round that opens a
share.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from service.errors import CheckpointError
from service.stream import Output, Record

_NUMBERS: Final = ("start", "round", "lanes", "kept")
_MAX_DIGITS: Final = 18


class Contribution(NamedTuple):
    """A partition's part of a round."""

    lane: int
    """The partition."""
    start: int
    """The number of the round that opened the share, which distinguishes it from earlier ones."""
    round: int
    n_lanes: int
    """How many lanes the next round has, as far as this partition knows."""
    kept: int
    """The last round that this partition needs no more: no snapshot of it is older."""
    value: bytes
    offset: int = -1
    """Where it lies in its lane; −1 before it is written."""


def as_output(contribution: Contribution, topic: str, group: str) -> Output:
    """Write a contribution as a record of its lane."""
    numbers = (contribution.start, contribution.round, contribution.n_lanes, contribution.kept)
    headers = tuple((name, b"%d" % number) for name, number in zip(_NUMBERS, numbers, strict=True))
    return Output(topic, group.encode(), contribution.value, headers, contribution.lane)


def from_record(record: Record, group: str) -> Contribution:
    """Read a record of a lane.

    Raises
    ------
    CheckpointError
        It is no contribution, or another group's.

    """
    place = f"{record.topic}[{record.partition}]@{record.offset}"
    headers = dict(record.headers)
    found = [headers.get(name, b"") for name in _NUMBERS]
    if not all(each.isdigit() and len(each) <= _MAX_DIGITS for each in found):
        raise CheckpointError(
            f"{place}: this is no contribution to a round; another program has written to the topic",
            hint="let nothing else write to the mixes topic: --mixes-topic names another one",
        )
    if record.key != group.encode():
        owner = (record.key or b"").decode(errors="replace")
        raise CheckpointError(
            f"{place}: written by the group {owner!r:.200}, not {group!r}",
            hint="give each group a mixes topic of its own: --mixes-topic",
        )
    start, number, n_lanes, kept = map(int, found)
    return Contribution(record.partition, start, number, n_lanes, kept, record.value or b"", record.offset)
