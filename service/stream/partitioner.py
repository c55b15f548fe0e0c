"""The partition of a key, as chosen by Apache Kafka's default partitioner."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

_M: Final = 0x5BD1E995


def partition_for_key(key: bytes | None, partitions: int) -> int:
    """Choose a partition as Apache Kafka's default partitioner does: murmur2 of the key.

    So a stream moved from SQLite to Kafka keeps each key in its partition. A record without a key goes to
    partition 0.
    """
    return 0 if key is None or partitions == 1 else (_murmur2(key) & 0x7FFFFFFF) % partitions


def partition_at_work(at_work: Collection[int], event_id: str | None, partitions: int) -> int:
    """Choose an open partition: with the event id as key if that one is open, else the first open one.

    `partitions` is the number of all partitions; 0 if it is unknown.
    """
    its_own = partition_for_key(event_id.encode(), partitions) if event_id is not None and partitions else -1
    return its_own if its_own in at_work else min(at_work)


def _murmur2(data: bytes) -> int:
    """Hash a key to 32 bits (Austin Appleby, 2008; seed and form as in Kafka's clients)."""
    mask, length = 0xFFFFFFFF, len(data)
    h = 0x9747B28C ^ length & mask
    whole = length & ~3
    for start in range(0, whole, 4):
        k = int.from_bytes(data[start : start + 4], "little") * _M & mask
        h = (h * _M & mask) ^ ((k ^ (k >> 24)) * _M & mask)
    if length != whole:
        h = (h ^ int.from_bytes(data[whole:], "little")) * _M & mask
    h = (h ^ (h >> 13)) * _M & mask
    return h ^ (h >> 15)
