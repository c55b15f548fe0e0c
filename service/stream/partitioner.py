"""The partition of a key, as chosen by Apache Kafka's default partitioner.

`partitioner.pxd` gives this module its C types.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

_M: Final = 0x5BD1E995


def partition_for_key(key: bytes | None, partitions: int) -> int:
    """Choose a partition as Apache Kafka's default partitioner does: murmur2 of the key.

    So a stream moved from SQLite to Kafka keeps each key in its partition. A record without a key goes to
    partition 0.
    """
    if key is None:
        return 0
    return partition_of_key(key, len(key), partitions)


def partition_of_key(key: bytes, length: int, partitions: int) -> int:
    """Choose a partition as `partition_for_key`; when compiled, `key` is a pointer."""
    return (_murmur2(key, length) & 0x7FFFFFFF) % partitions


def partition_at_work(at_work: Collection[int], event_id: str | None, partitions: int) -> int:
    """Choose an open partition: that of the event id as key if it is open, else the first open one.

    `partitions` is the number of all partitions; 0 if it is unknown.
    """
    its_own = partition_for_key(event_id.encode(), partitions) if event_id is not None and partitions else -1
    return its_own if its_own in at_work else min(at_work)


def _murmur2(data: bytes, length: int) -> int:
    """Hash a key to 32 bits (Austin Appleby, 2008; seed and form as in Kafka's clients)."""
    mask = 0xFFFFFFFF
    h = 0x9747B28C ^ length & mask
    whole = length & ~3
    for start in range(0, whole, 4):
        k = _number(data, start, start + 4) * _M & mask
        h = (h * _M & mask) ^ ((k ^ (k >> 24)) * _M & mask)
    if length != whole:
        h = (h ^ _number(data, whole, length)) * _M & mask
    h = (h ^ (h >> 13)) * _M & mask
    return h ^ (h >> 15)


def _number(data: bytes, start: int, end: int) -> int:
    """Read up to four bytes, the least significant first."""
    number = 0
    for at in range(end - 1, start - 1, -1):
        number = number << 8 | data[at]
    return number
