"""What kafka-python does not publish and the service cannot do without.

Any release may change it. Without these names, records would be lost, doubled or never delivered: a release
that lacks one is refused. What serves speed alone is in `accelerated`.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from operator import attrgetter
from typing import Final

import kafka

from service.transport.kafka.published import Release

RELEASE: Final = Release(
    name="kafka-python",
    package=kafka,
    adapter=__package__,
    oldest="3.0.12",
    tested="3.0.12",
    other="confluent",
    extra="[crc32c]",
)
NEEDED: Final = {
    # which connections broke
    "kafka.net.compat:KafkaNetClient": "await_ready close cluster connected in_flight_request_count poll",
    "kafka.net.manager:KafkaConnectionManager": "cluster get_connection",
    "kafka.net.connection:KafkaConnection": "close_future init_future",
    "kafka.net.selector:NetworkSelector": "close run sleep",
    # commits that end, with certainty
    "kafka.producer.kafka:KafkaProducer": "_closed _sender _transaction_manager _unregister_cleanup config",
    "kafka.producer.sender:Sender": "force_close wakeup",
    "kafka.producer.transaction_manager:TransactionManager": "begin_commit last_error producer_id_and_epoch"
    " send_offsets_to_transaction",
    "kafka.producer.transaction_manager:TransactionalRequestResult": "wait",
    # rebalances, and the records of partitions that were paused
    "kafka.consumer.group:KafkaConsumer": "_coordinator _fetcher group_metadata",
    "kafka.consumer.fetcher:Fetcher": "_next_partition_records _paused_partition_records",
    "kafka.coordinator.assignors.cooperative_sticky:CooperativeStickyAssignor": "",
    "kafka.coordinator.consumer:ConsumerCoordinator": "_generation _join_task _on_join_prepare_async"
    " _send_heartbeat_request rejoin_needed reset_generation",
    "kafka.future:Future": "add_callback add_errback failed",
    "kafka.structs:MemberState": "STABLE",
}
"""Attributes of each class or of its instances."""


def check() -> None:
    """Raise `ConfigurationError` for a release that lacks what the service cannot do without."""
    RELEASE.check()
    if lack := first_lack(NEEDED):
        raise RELEASE.unsupported(f"{lack} is gone, which commits, rebalances or errors rest on")


def first_lack(names: Mapping[str, str]) -> str | None:
    """Return the first name that the installed release does not have; None if it has all."""
    for owner, attributes in names.items():
        module, _, path = owner.partition(":")
        try:
            found = attrgetter(path)(import_module(module))
        except (ImportError, AttributeError):
            return f"{module}.{path}"
        for name in attributes.split():
            if not _has(found, name):
                return f"{module}.{path}.{name}"
    return None


def _has(owner: type, name: str) -> bool:
    """Return whether a class has an attribute, or code of it uses one of its instances by this name."""
    return hasattr(owner, name) or any(
        name in code.co_names
        for kind in getattr(owner, "__mro__", ())
        for code in (getattr(each, "__code__", None) for each in vars(kind).values())
        if code is not None
    )
