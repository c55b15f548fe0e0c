"""Options of Kafka's clients that are no settings, and the settings to use instead."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

_IN_TRANSACTIONS: Final = "predictions, model and positions are committed in one transaction"
_INSTEAD: Final[Mapping[str, str]] = {
    "acks": f"{_IN_TRANSACTIONS}, which Kafka has with acks=all only: it is always that",
    "auto_offset_reset": "a group without committed positions begins at the oldest record; on_data_loss says "
    "what happens when records are gone",
    "bootstrap_servers": "broker has the addresses: kafka://host:9092,host2:9092",
    "enable_auto_commit": f"{_IN_TRANSACTIONS}: positions are never committed apart",
    "enable_idempotence": f"{_IN_TRANSACTIONS}, which are idempotent: it is always on",
    "group_id": "group is the name of the consumer group",
    "group_instance_id": "kafka.instance_id is the name for static membership",
    "isolation_level": "only committed records are read: it is always read_committed",
    "max_poll_records": "max_batch_records is the most records of a batch",
    "session_timeout_ms": "session_timeout_seconds is the setting",
    "transaction_timeout_ms": "kafka.transaction_timeout_seconds is the setting",
    "transactional_id": "each process has one of its own, which begins with group and topic",
}


def instead_of(name: str) -> str:
    """Return what holds in the place of a client's option; empty if the name is none of those known.

    >>> instead_of("kafka.group.id")
    'group is the name of the consumer group'
    >>> len({instead_of(name) for name in ("--kafka-acks", "PERCEPTRON_KAFKA__ACKS", "acks")})
    1
    >>> instead_of("kafka.aks")
    ''
    """
    plain = re.sub(r"[._-]+", "_", name.lower()).strip("_")
    return _INSTEAD.get(plain.removeprefix("perceptron_").removeprefix("kafka_"), "")
