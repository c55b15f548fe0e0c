"""Which partition a record goes to. In: its key. Out: what Apache Kafka's default partitioner chooses."""

from __future__ import annotations

from collections.abc import Collection


def partition_for_key(key: bytes | None, partitions: int) -> int:
    """Choose a partition as Apache Kafka's default partitioner does: murmur2 of the key.

    So a stream moved from SQLite to Kafka keeps each key in the same partition. A record without
    a key goes to partition 0.
    """
    if key is None:
        return 0
    return (_murmur2(key) & 0x7FFFFFFF) % partitions


def partition_at_work(at_work: Collection[int], event_id: str | None, partitions: int) -> int:
    """Choose an open partition: the one that the event id as key is sent to if it is open, else the first.

    `partitions` is how many there are in all; 0 while that is not known.
    """
    its_own = partition_for_key(event_id.encode(), partitions) if event_id is not None and partitions else -1
    return its_own if its_own in at_work else min(at_work)


def _murmur2(data: bytes) -> int:
    """Hash `data` to 32 bits (Austin Appleby, 2008; seed and form as in Kafka's clients)."""
    m, length, mask = 0x5BD1E995, len(data), 0xFFFFFFFF
    h = (0x9747B28C ^ length) & mask
    whole = length & ~3
    for start in range(0, whole, 4):
        k = int.from_bytes(data[start : start + 4], "little") * m & mask
        h = (h * m & mask) ^ ((k ^ (k >> 24)) * m & mask)
    if length != whole:
        h = (h ^ int.from_bytes(data[whole:], "little")) * m & mask
    h = (h ^ (h >> 13)) * m & mask
    return h ^ (h >> 15)
