"""Asks kafka-python for records. In: a client that has been assigned partitions. Out: `RecordBatch`es."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kafka.structs import TopicPartition

from service.batches.record_batch import RecordBatch


def take(
    client: Any,  # noqa: ANN401 - kafka-python has no types
    max_records: int,
    wait_seconds: float,
) -> Mapping[TopicPartition, RecordBatch]:
    """Return the records that are there; wait for the first one only."""
    _unpark(client)
    found: Mapping[TopicPartition, RecordBatch] = client.poll(
        timeout_ms=wait_seconds * 1000, max_records=max_records
    )
    return found


def has_fetched(client: Any) -> bool:  # noqa: ANN401 - kafka-python has no types
    """Return whether the client has something to deliver, without asking it."""
    fetcher = client._fetcher  # noqa: SLF001 - nothing public reaches it
    return bool(
        fetcher._completed_fetches  # noqa: SLF001
        or fetcher._next_partition_records  # noqa: SLF001
        or fetcher._paused_partition_records  # noqa: SLF001
    )


def _unpark(client: Any) -> None:  # noqa: ANN401 - kafka-python has no types
    """Deliver records that the client had fetched of partitions that were paused and are not any more.

    kafka-python (3.0.12) only does it when nothing else is in line, and takes what it has used up for
    something. What is parked is not fetched again: it would never come.
    """
    fetcher = client._fetcher  # noqa: SLF001 - nothing public reaches it
    if fetcher._paused_partition_records and not fetcher._next_partition_records:  # noqa: SLF001
        fetcher._next_partition_records = None  # noqa: SLF001
