"""A stream copied record by record, with something changed on the way: what a fault might leave."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing

from service.settings.load import Settings
from service.settings.topics import input_topics, output_topics
from service.stream.protocol import Output, Record, Transport
from service.stream.temporary_member import TemporaryMember

Change = Callable[[list[Record]], Sequence[Record]]
"""Makes of a partition's records those of the copy."""


def copy_stream(
    source: Transport,
    target: Transport,
    settings: Settings,
    changes: dict[tuple[str, int], Change],
    further: Sequence[str] = (),
) -> None:
    """Copy the service's topics, further ones and its group's offsets, changing the partitions named."""
    inputs = input_topics(settings)
    for topic in (*inputs, *output_topics(settings), *further):
        count = source.partition_count(topic)
        target.ensure_topics({topic: count})
        for partition in range(count):
            records = list(source.read(topic, partition))
            change = changes.get((topic, partition), list)
            target.produce([_copied(record) for record in change(records)])
    partitions = range(source.partition_count(inputs[0]))
    with TemporaryMember(target, settings.group, inputs, settings.session_timeout_seconds) as visitor:
        visitor.wait_for(partitions, hint="")
        for partition in partitions:
            with closing(visitor.consumer.writer(partition)) as writer:
                writer.commit([], source.committed(settings.group, inputs, partition))


def _copied(record: Record) -> Output:
    return Output(
        record.topic, record.key, record.value, record.headers, record.partition, record.timestamp_ms
    )
