"""The names of kafka-python that it does not publish, and without which records would be lost.

Any release may change them. One that lacks a name is refused when the client that needs it is opened.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any, Final

import kafka

from service.stream.kafka.cluster import Release

RELEASE: Final = Release(
    name="kafka-python",
    package=kafka,
    tested="3.0.12",
    other="confluent",
    extra="[crc32c]",
)


def _required(owner: Any, path: str, use: str) -> Any:  # noqa: ANN401 - kafka-python has no types
    """Return what lies at a path of attributes."""
    try:
        return attrgetter(path)(owner)
    except AttributeError:
        raise RELEASE.unsupported(f"{type(owner).__name__}.{path} is gone, by which {use}") from None


def count_ended_connections(client: Any) -> Callable[[], int]:  # noqa: ANN401 - kafka-python has no types
    """Count the connections of a client that have ended, for any reason; return what tells the number.

    A request that is repeated on another connection may still be delivered; the end of a transaction then
    ends the next one, half done (KIP-890, KAFKA-14402). After a broken connection the producer is therefore
    replaced. Nothing published tells of one: the metrics have rates.
    """
    use = "a broken connection is noticed, whose late requests would tear the next transaction (KIP-890)"
    manager = _required(client, "_manager", use)
    open_connection = _required(manager, "get_connection", use)
    watched, n_ended = set(), 0

    def note(connection: object) -> None:
        nonlocal n_ended
        n_ended += 1
        watched.discard(connection)

    def get_connection(*given: object, **options: object) -> Any:  # noqa: ANN401 - as above
        connection = open_connection(*given, **options)
        if connection not in watched:
            watched.add(connection)
            _required(connection, "close_future.add_both", use)(lambda _: note(connection))
        return connection

    manager.get_connection = get_connection
    return lambda: n_ended


def producer_epoch(producer: kafka.KafkaProducer) -> object:
    """Return the id and epoch by which the broker knows a producer.

    When a batch fails while a commit flushes it, the client takes another epoch (KIP-360), which aborts the
    transaction at the broker, finds no transaction to end, and `commit_transaction()` returns.
    """
    use = "a commit that did not happen is noticed (KIP-360)"
    return _required(producer, "_transaction_manager.producer_id_and_epoch", use)


def deliver_resumed(consumer: kafka.KafkaConsumer) -> None:
    """Let the next poll deliver what was fetched of partitions that were paused and are not any more.

    What is fetched of a paused partition is parked, and comes back when no other partition's records are in
    line (kafka-python's pull request 2981, KAFKA-7548). Records that are used up count as in line: of a
    partition that is alone, what is parked would never come, and it is not fetched again.
    """
    use = "the records of a resumed partition are delivered"
    fetcher = _required(consumer, "_fetcher", use)
    parked = _required(fetcher, "_paused_partition_records", use)
    if not _required(fetcher, "_next_partition_records", use) and parked:
        fetcher._next_partition_records = None  # noqa: SLF001


def resume_join(consumer: kafka.KafkaConsumer) -> None:
    """Let the next poll go on with a join that has begun.

    A leader that joins because partitions were added sees no reason any more once it has shared them out, and
    would leave the answer where it is: nobody would ever own the new partitions.
    """
    use = "partitions that are added get an owner"
    _required(consumer, "_coordinator.rejoin_needed", use)
    consumer._coordinator.rejoin_needed = True  # noqa: SLF001
