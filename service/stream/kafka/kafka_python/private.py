"""The names of kafka-python that it does not publish, without which records would be lost or not delivered.

Any release may change them. Where one is gone, published names do as well, only slower, or what it mends is
taken to be mended: a warning says so. A release without `producer_epoch` is refused: it may lose commits.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from itertools import count
from typing import Any, Final

import kafka

from service.stream.kafka.cluster import RELEASES

_log = logging.getLogger(__name__)
_MENDED: Final = "this release presumably does that itself"


@contextmanager
def _unless_gone(use: str, consequence: str) -> Iterator[None]:
    """Run a block; where a name in it is gone, say what that means."""
    try:
        yield
    except AttributeError as error:
        _warn(f"kafka-python {kafka.__version__}: {error}, by which {use}; {consequence}")


@cache
def _warn(message: str) -> None:
    """Log a warning, once."""
    _log.warning(message)


def count_ended_connections(client: Any) -> Callable[[], int]:  # noqa: ANN401 - kafka-python has no types
    """Count the connections of a client that have ended, for any reason; return what tells the number.

    A request that is repeated on another connection may still be delivered; the end of a transaction then
    ends the next one, half done (KIP-890, KAFKA-14402). After a broken connection the producer is therefore
    replaced. Nothing published tells of one: the metrics have rates.
    """
    n_ended, n_asked = 0, count(1)
    use = "a broken connection is noticed, whose late requests would tear the next transaction (KIP-890)"
    with _unless_gone(use, "each transaction gets a new producer"):
        manager = client._manager  # noqa: SLF001
        open_connection, watched = manager.get_connection, set()

        def note(connection: object) -> None:
            nonlocal n_ended
            n_ended += 1
            watched.discard(connection)

        def get_connection(*given: object, **options: object) -> Any:  # noqa: ANN401 - as above
            connection = open_connection(*given, **options)
            if connection not in watched:
                watched.add(connection)
                connection.close_future.add_both(lambda _: note(connection))
            return connection

        manager.get_connection = get_connection
        return lambda: n_ended
    return lambda: next(n_asked)


def producer_epoch(producer: kafka.KafkaProducer) -> object:
    """Return the id and epoch by which the broker knows a producer.

    When a batch fails while a commit flushes it, the client takes another epoch (KIP-360), which aborts the
    transaction at the broker, finds no transaction to end, and `commit_transaction()` returns.
    """
    try:
        return producer._transaction_manager.producer_id_and_epoch  # noqa: SLF001
    except AttributeError as error:
        raise RELEASES["kafka-python"].unsupported(
            f"{error}, by which a commit that did not happen is noticed (KIP-360)"
        ) from None


def deliver_resumed(consumer: kafka.KafkaConsumer) -> None:
    """Let the next poll deliver what was fetched of partitions that were paused and are not any more.

    What is fetched of a paused partition is parked, and comes back when no other partition's records are in
    line (kafka-python's pull request 2981, KAFKA-7548). Records that are used up count as in line: of a
    partition that is alone, what is parked would never come, and it is not fetched again.
    """
    with _unless_gone("the records of a resumed partition are delivered", _MENDED):
        fetcher = consumer._fetcher  # noqa: SLF001
        if not fetcher._next_partition_records and fetcher._paused_partition_records:  # noqa: SLF001
            fetcher._next_partition_records = None  # noqa: SLF001


def resume_join(consumer: kafka.KafkaConsumer) -> None:
    """Let the next poll continue with a join that has begun.

    A leader that joins because partitions were added sees no reason any more once it has shared them out, and
    would leave the answer where it is: no one would ever own the new partitions.
    """
    with _unless_gone("partitions that are added get an owner", _MENDED):
        coordinator = consumer._coordinator  # noqa: SLF001
        coordinator.rejoin_needed |= True
