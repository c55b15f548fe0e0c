"""Names, times and sizes that are the same for both clients of Apache Kafka.

A group may have members of both kinds, and a partition may go from one kind to the other: whatever fences a
former owner has to be the same for both.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from time import monotonic
from typing import Final
from uuid import uuid4

from service.stream.protocol import RecordLimit

# A cluster that has not answered by then is reported as away. A first connection takes milliseconds.
CONNECT_TIMEOUT_SECONDS: Final = 5.0
# An unanswered request ends its connection after this; a frozen broker is noticed by it.
REQUEST_TIMEOUT_SECONDS: Final = 10.0
# Connections come and go when leaders move or a broker restarts; it is unreachable when none came back.
AWAY_AFTER_SECONDS: Final = 3.0
# A request for the ends of partitions, on which the loop waits.
LOOK_SECONDS: Final = 2.0
# How old what a client knows of topics may be: after this, added partitions have their owners and records.
METADATA_SECONDS: Final = 5.0
# A new topic's partitions get their leaders within milliseconds, on a busy cluster within seconds.
TOPIC_TIMEOUT_SECONDS: Final = 30.0
# A transaction's markers reach its partitions within milliseconds; a broker that is busy takes longer.
SETTLE_SECONDS: Final = 1.0
# What a step of a commit gets when its time is over: it may have been over while the process was frozen, and
# the answer, which says that it was fenced, is there already or one request away.
MOMENT_SECONDS: Final = 1.0
# How long an append to the input may take, and its transaction. A process that is killed meanwhile leaves one
# open, at which readers stop: it ends when the partition's next owner appends, or when it is too old.
_APPEND_SECONDS: Final = 5.0
_APPEND_TRANSACTION_SECONDS: Final = 10.0
# A transaction lasts for so much of a session; a short session leaves a busy broker some seconds.
_SHARE_OF_SESSION: Final = 0.9
_SHORTEST_TRANSACTION_SECONDS: Final = 5.0
# A request without an answer is repeated while its first copy may still be delivered: not during a commit.
_REPEAT_AFTER_COMMIT_SECONDS: Final = 5.0
# While a group shares out its partitions, kafka-python delivers nothing until all members have heard of it.
_HEARTBEAT_MS: Final = 250
KEEP_FOREVER: Final = {"cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "-1"}

# The largest record of the clients, whatever the topic allows: a broker reads requests of 100 MiB at most,
# and an uncompressed record is one. librdkafka has no larger number for what it compresses.
CLIENT_LIMIT: Final = RecordLimit(64 * 1024 * 1024, 1_000_000_000)
MAX_MESSAGE_BYTES: Final = "max.message.bytes"
# For a broker that does not report a topic's limit, Kafka's default is assumed.
_DEFAULT_MESSAGE_BYTES: Final = 1_048_588
_BATCH_FRAME_BYTES: Final = 64


class TopicLimits:
    """The known `max.message.bytes` of topics, which limits a batch as it is sent."""

    def __init__(self) -> None:
        self._message_bytes: dict[str, int] = {}

    def note(self, topic: str, max_message_bytes: int | None) -> RecordLimit:
        """Remember a topic's setting, None if the broker does not report it; return the limit of a record."""
        self._message_bytes[topic] = max_message_bytes or _DEFAULT_MESSAGE_BYTES
        most = self._message_bytes[topic] - _BATCH_FRAME_BYTES
        return RecordLimit(min(most, CLIENT_LIMIT.n_bytes), CLIENT_LIMIT.uncompressed_bytes)

    @property
    def batch_bytes(self) -> int:
        """The size of batches that every topic accepts.

        A client counts their bytes roughly, and librdkafka fails all of a batch that is too large.
        """
        return min([_DEFAULT_MESSAGE_BYTES, *self._message_bytes.values()]) * 9 // 10


@dataclass(frozen=True, slots=True)
class ClientOptions:
    """What a transport passes on to its members and producers.

    Attributes
    ----------
    session_timeout_seconds
        Without a heartbeat for this long, a member's partitions go to another.
    instance_id
        Name for static membership: a restart within the session timeout causes no rebalance.
    transaction_timeout_seconds
        After this the broker itself ends a transaction that no one has taken over.
    commit_timeout_seconds
        How long a commit or a `produce` may take before it counts as failed.
    limits
        Of the topics, as far as they are known.
    alone
        A topic whose only partition the group gives to the member that has all partitions; empty: each
        partition has an owner of its own.

    """

    session_timeout_seconds: float = 10.0
    instance_id: str | None = None
    transaction_timeout_seconds: float = 60.0
    commit_timeout_seconds: float = 30.0
    limits: TopicLimits = field(default_factory=TopicLimits)
    alone: str = ""


def for_appends(options: ClientOptions) -> ClientOptions:
    """Return the options of a producer that appends to the input."""
    return replace(
        options,
        transaction_timeout_seconds=min(_APPEND_TRANSACTION_SECONDS, options.transaction_timeout_seconds),
        commit_timeout_seconds=min(_APPEND_SECONDS, options.commit_timeout_seconds),
    )


def within_session(options: ClientOptions) -> ClientOptions:
    """Return the options of a producer whose transactions end before a killed owner's partitions move."""
    longest = max(_SHORTEST_TRANSACTION_SECONDS, _SHARE_OF_SESSION * options.session_timeout_seconds)
    seconds = min(longest, options.transaction_timeout_seconds)
    return replace(
        options,
        transaction_timeout_seconds=seconds,
        commit_timeout_seconds=min(_SHARE_OF_SESSION * seconds, options.commit_timeout_seconds),
    )


def seconds_left(deadline: float) -> float:
    """Seconds that are left until a `time.monotonic` deadline; 0 after it."""
    return max(0.0, deadline - monotonic())


def transactional_id(group: str, topic: str) -> str:
    """Return a name for the transactions of one process: of no other, whichever group and topic it has.

    Access rules can allow it by its prefix, the group and the topic.
    """
    return f"{group}-{topic}/{uuid4().hex}"


def appending_id(group: str, topic: str, partition: int) -> str:
    """Return the name of the transactions that append to one partition's input; no other name is like it."""
    return f"{group}-{topic}/{len(topic)}/{partition}/append"


def transaction_request_seconds(commit_timeout_seconds: float) -> float:
    """Return how long a transactional producer waits for one answer: longer than for the whole commit.

    A client repeats a request that was not answered in time. The first copy may still be under way, and the
    end of a transaction that arrives during the next one ends that one, half done (KIP-890).
    """
    return commit_timeout_seconds + _REPEAT_AFTER_COMMIT_SECONDS


def heartbeat_interval_ms(session_timeout_seconds: float) -> int:
    """Return the interval of a member's heartbeats.

    The answer announces a rebalance: the longer the interval, the longer all members wait.
    """
    return min(_HEARTBEAT_MS, int(session_timeout_seconds * 1000) // 3)
