"""The private names of kafka-python without which records would be lost or not delivered.

Any release may change them. If one is missing, public names replace it, more slowly, or the defect that it
works around is assumed to be fixed; a warning is logged. A release without `producer_epoch` is rejected,
because it may lose commits.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from itertools import count
from typing import Any, Final

import kafka
from kafka.errors import KafkaConnectionError

from service.stream.kafka.cluster import RELEASES

_log = logging.getLogger(__name__)
_MENDED: Final = "this release presumably does that itself"


@contextmanager
def _unless_gone(use: str, consequence: str) -> Iterator[None]:
    """Run a block; if a name in it is missing, warn of the consequence."""
    try:
        yield
    except AttributeError as error:
        _warn(f"kafka-python {kafka.__version__}: {error}, by which {use}; {consequence}")


@cache
def _warn(message: str) -> None:
    """Log a warning, once."""
    _log.warning(message)


def count_ended_connections(client: Any) -> Callable[[], int]:  # noqa: ANN401 - kafka-python has no types
    """Count the connections of a client that have ended, for any reason; return a function of the count.

    A request that is repeated on another connection may still be delivered; a delayed request to end a
    transaction then ends the next one, half done (KIP-890, KAFKA-14402). So the producer is replaced after a
    broken connection. No public API reports one: the metrics are rates.
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


def keep_unsent_requests(client: Any) -> None:  # noqa: ANN401 - kafka-python has no types
    """Make a producer send a request to the next coordinator if it cannot reach the present one.

    kafka-python's client raises an error where its sender (3.0.12) expects False. The sender then finds the
    next coordinator, but has lost the request: the transaction, or its producer, waits for its time limit.
    """
    with _unless_gone("a transaction survives its coordinator", "it fails at its time limit"):
        await_ready = client.await_ready

        def is_ready(node_id: object, timeout_ms: float) -> bool:
            try:
                return bool(await_ready(node_id, timeout_ms))
            except KafkaConnectionError:
                # Until the cluster notices that a coordinator is gone, it names that one.
                client.poll(timeout_ms=50)
                return False

        client.await_ready = is_ready


def producer_epoch(producer: kafka.KafkaProducer) -> object:
    """Return the id and epoch by which the broker knows a producer.

    When a batch fails while a commit flushes it, the client increments its epoch (KIP-360), which aborts the
    transaction at the broker. Then the client finds no transaction to end, and `commit_transaction()` returns
    without an error.
    """
    try:
        return producer._transaction_manager.producer_id_and_epoch  # noqa: SLF001
    except AttributeError as error:
        raise RELEASES["kafka-python"].unsupported(
            f"{error}, by which a commit that did not happen is noticed (KIP-360)"
        ) from None


def deliver_resumed(consumer: kafka.KafkaConsumer) -> None:
    """Make the next poll deliver the fetched records of resumed partitions.

    Records fetched from a paused partition are parked, and return when no other partition's records are in
    line (kafka-python's pull request 2981, KAFKA-7548). Exhausted records count as in line: for a single
    partition, parked records would never return, and the partition would not be fetched again.
    """
    with _unless_gone("the records of a resumed partition are delivered", _MENDED):
        fetcher = consumer._fetcher  # noqa: SLF001
        if not fetcher._next_partition_records and fetcher._paused_partition_records:  # noqa: SLF001
            fetcher._next_partition_records = None  # noqa: SLF001


def resume_join(consumer: kafka.KafkaConsumer) -> None:
    """Make the next poll continue a join that has begun.

    A leader that joins because partitions were added has no reason to join any more once it has distributed
    them, and would ignore the response: then no member would ever own the new partitions.
    """
    with _unless_gone("partitions that are added get an owner", _MENDED):
        coordinator = consumer._coordinator  # noqa: SLF001
        coordinator.rejoin_needed |= True
