"""A cluster of three real Kafka brokers on this machine, each to be killed, stopped and frozen.

Each node is a controller and a broker. Each topic is on all of them, and two have to take what is written: so
everything goes on without one of them, and nothing can be written without two.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from types import MappingProxyType
from typing import Final, Self

from kafka import KafkaAdminClient
from kafka.errors import KafkaError

from tests.support.kafka_broker import KafkaBroker, Node, free_ports, new_cluster_id

N_BROKERS: Final = 3
N_LOG_PARTITIONS: Final = 3
"""Of the logs of groups and transactions: each broker coordinates some of them."""
BROKER_SESSION_SECONDS: Final = 6.0
"""A broker that is silent for this long has lost its partitions and its part as a coordinator."""
_SETTINGS: Final = {
    "default.replication.factor": "3",
    "min.insync.replicas": "2",
    "offsets.topic.replication.factor": "3",
    "transaction.state.log.replication.factor": "3",
    "transaction.state.log.min.isr": "2",
    "offsets.topic.num.partitions": str(N_LOG_PARTITIONS),
    "transaction.state.log.num.partitions": str(N_LOG_PARTITIONS),
    "broker.session.timeout.ms": str(int(BROKER_SESSION_SECONDS * 1000)),
}


class KafkaCluster:
    """Three nodes, each a controller and a broker, with replication factor 3 and 2 in-sync replicas at least.

    Parameters
    ----------
    settings
        Lines of each `server.properties` that add to or replace the usual ones.
    heap
        Each JVM's ``-Xmx``.
    quick_start
        As `KafkaBroker` takes it.

    """

    def __init__(
        self,
        *,
        settings: Mapping[str, str] = MappingProxyType({}),
        heap: str = "320m",
        quick_start: bool = False,
    ) -> None:
        numbers = range(1, N_BROKERS + 1)
        ports = dict(zip(numbers, free_ports(N_BROKERS), strict=True))
        cluster_id = new_cluster_id()

        def make(number: int) -> KafkaBroker:
            return KafkaBroker(
                settings={**_SETTINGS, **settings},
                heap=heap,
                quick_start=quick_start,
                node=Node(cluster_id, number, ports),
            )

        with ThreadPoolExecutor() as pool:  # each formats its storage, in a JVM of its own
            self.brokers: Mapping[int, KafkaBroker] = dict(zip(numbers, pool.map(make, numbers), strict=True))

    @property
    def address(self) -> str:
        """The addresses of all brokers, as a client's bootstrap servers."""
        return ",".join(broker.address for broker in self.brokers.values())

    def ensure_running(self) -> None:
        """Thaw what is frozen, start what does not run, and wait until each broker answers."""
        for broker in self.brokers.values():
            if broker.is_running:
                broker.resume()
            else:
                broker.launch()
        for broker in self.brokers.values():
            broker.wait_until_ready()

    def transaction_coordinator(self, transactional_id: str) -> int:
        """Return the number of the broker that coordinates these transactions."""
        return self.leader("__transaction_state", _java_hash(transactional_id) % N_LOG_PARTITIONS)

    def group_coordinator(self, group: str) -> int:
        """Return the number of the broker that coordinates this group."""
        return self.leader("__consumer_offsets", _java_hash(group) % N_LOG_PARTITIONS)

    def leader(self, topic: str, partition: int) -> int:
        """Return the number of the broker that leads this partition, -1 while there is none."""
        return self._leaders()[topic, partition]

    def wait_until_led_without(self, number: int, within_seconds: float = 60.0) -> None:
        """Wait until other brokers lead all that this one has led."""
        deadline = time.monotonic() + within_seconds
        while {number, -1} & set(self._leaders(but_of=number).values()):
            assert time.monotonic() < deadline, f"broker {number} leads still"
            time.sleep(0.1)

    def _leaders(self, *, but_of: int | None = None) -> dict[tuple[str, int], int]:
        """Return who leads each partition, as a broker says that runs; it may be a little behind."""
        addresses = [each.address for n, each in self.brokers.items() if n != but_of and each.is_running]
        while True:
            with contextlib.closing(KafkaAdminClient(bootstrap_servers=addresses)) as admin:
                try:
                    topics = admin.describe_topics()
                except KafkaError:  # any broker is asked, also one that is gone
                    continue
            return {
                (topic["name"], each["partition_index"]): each["leader_id"]
                for topic in topics
                for each in topic["partitions"]
            }

    def close(self) -> None:
        """Kill all of it and remove its data."""
        for broker in self.brokers.values():
            broker.close()

    def __enter__(self) -> Self:
        try:
            self.ensure_running()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def _java_hash(text: str) -> int:
    """Return the hash by which Kafka assigns ids to the partitions of its logs."""
    found = 0
    for character in text:
        found = (31 * found + ord(character)) & 0xFFFFFFFF
    return found & 0x7FFFFFFF
