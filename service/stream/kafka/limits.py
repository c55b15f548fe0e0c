"""Names, times and sizes that both clients of Apache Kafka share.

A group may have members with either client, and a partition may move between them: so names that fence a
former owner must be the same for both.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from time import monotonic
from typing import Final
from uuid import uuid4

from service.stream.protocol import RecordLimit

# A cluster that has not answered by then is reported as unavailable. A first connection takes milliseconds.
CONNECT_TIMEOUT_SECONDS: Final = 5.0
# An unanswered request closes its connection after this time, so that a frozen broker is noticed.
REQUEST_TIMEOUT_SECONDS: Final = 10.0
# Connections break when leaders move or a broker restarts; without one for this long, it is unreachable.
AWAY_AFTER_SECONDS: Final = 3.0
# Timeout of a request for the ends of partitions, which the loop waits for.
LOOK_SECONDS: Final = 2.0
# How old a client's metadata may be: within this time, added partitions get owners and records.
METADATA_SECONDS: Final = 5.0
# A new topic's partitions get their leaders within milliseconds, on a busy cluster within seconds.
TOPIC_TIMEOUT_SECONDS: Final = 30.0
# A transaction's markers reach its partitions within milliseconds; a busy broker takes longer.
SETTLE_SECONDS: Final = 1.0
# Grace period for a step of a commit after its deadline: the process may have been frozen, and the response,
# which reports that it was fenced, may be here already or one request away.
MOMENT_SECONDS: Final = 1.0
# How long an append to the input, and its transaction, may take. A process that is killed meanwhile leaves an
# open transaction, which stops readers until the partition's next owner appends or the transaction times out.
_APPEND_SECONDS: Final = 5.0
_APPEND_TRANSACTION_SECONDS: Final = 10.0
# A transaction may take this fraction of a session timeout, but at least some seconds for a busy broker.
_SHARE_OF_SESSION: Final = 0.9
_MIN_TRANSACTION_SECONDS: Final = 5.0
# A client repeats an unanswered request although its first copy may still arrive: not during a commit.
_REPEAT_AFTER_COMMIT_SECONDS: Final = 5.0
# During a rebalance, kafka-python delivers nothing until all members have noticed it.
_HEARTBEAT_MS: Final = 250
AGE_OPTIONS: Final = ("retention.ms", "message.timestamp.type")
KEEP_FOREVER: Final = {"cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "-1"}

# The largest record of the clients, whatever the topic allows: a broker reads requests of at most 100 MiB,
# and an uncompressed record is one request. librdkafka allows no larger number before compression.
CLIENT_LIMIT: Final = RecordLimit(64 * 1024 * 1024, 1_000_000_000)
MAX_MESSAGE_BYTES: Final = "max.message.bytes"
# Kafka's default, assumed if a broker does not report a topic's limit.
_DEFAULT_MESSAGE_BYTES: Final = 1_048_588
_BATCH_FRAME_BYTES: Final = 64


class TopicLimits:
    """The known `max.message.bytes` of topics, which limit the size of batches."""

    def __init__(self) -> None:
        self._message_bytes: dict[str, int] = {}

    def note_limit(self, topic: str, max_message_bytes: int | None) -> RecordLimit:
        """Remember a topic's limit, None if the broker does not report it; return the limit of a record."""
        self._message_bytes[topic] = max_message_bytes or _DEFAULT_MESSAGE_BYTES
        most = self._message_bytes[topic] - _BATCH_FRAME_BYTES
        return RecordLimit(min(most, CLIENT_LIMIT.n_bytes), CLIENT_LIMIT.uncompressed_bytes)

    @property
    def batch_bytes(self) -> int:
        """The batch size that every topic accepts.

        A client estimates the size of a batch, and librdkafka fails every record of a batch that is too
        large.
        """
        return min([_DEFAULT_MESSAGE_BYTES, *self._message_bytes.values()]) * 9 // 10


@dataclass(frozen=True, slots=True)
class ClientOptions:
    """The options of a transport's members and producers.

    Attributes
    ----------
    session_timeout_seconds
        Time without a heartbeat after which a member's partitions move to another member.
    instance_id
        Name for static membership: with it, a restart within the session timeout causes no rebalance.
    transaction_timeout_seconds
        Time after which the broker aborts a transaction that no process has taken over.
    commit_timeout_seconds
        How long a commit or a `produce` may take before it counts as failed.
    limits
        The known limits of the topics.
    owner_topic
        A topic whose only partition goes to the member that owns all partitions; empty: partitions have
        separate owners.

    """

    session_timeout_seconds: float = 10.0
    instance_id: str | None = None
    transaction_timeout_seconds: float = 60.0
    commit_timeout_seconds: float = 30.0
    limits: TopicLimits = field(default_factory=TopicLimits)
    owner_topic: str = ""


def for_appends(options: ClientOptions) -> ClientOptions:
    """Return the options of a producer that appends to the input."""
    return replace(
        options,
        transaction_timeout_seconds=min(_APPEND_TRANSACTION_SECONDS, options.transaction_timeout_seconds),
        commit_timeout_seconds=min(_APPEND_SECONDS, options.commit_timeout_seconds),
    )


def within_session(options: ClientOptions) -> ClientOptions:
    """Return the options of a producer whose transactions end before a killed owner's partitions move."""
    longest = max(_MIN_TRANSACTION_SECONDS, _SHARE_OF_SESSION * options.session_timeout_seconds)
    seconds = min(longest, options.transaction_timeout_seconds)
    return replace(
        options,
        transaction_timeout_seconds=seconds,
        commit_timeout_seconds=min(_SHARE_OF_SESSION * seconds, options.commit_timeout_seconds),
    )


def seconds_left(deadline: float) -> float:
    """Return the seconds until a `time.monotonic` deadline; 0 after it."""
    return max(0.0, deadline - monotonic())


def transactional_id(group: str, topic: str) -> str:
    """Return a transactional id that is unique to this process.

    Access rules can allow it by its prefix: the group and the topic.
    """
    return f"{group}-{topic}/{uuid4().hex}"


def appending_id(group: str, topic: str, partition: int) -> str:
    """Return the transactional id for appends to a partition's input, which every owner uses."""
    return f"{group}-{topic}/{len(topic)}/{partition}/append"


def transaction_request_seconds(commit_timeout_seconds: float) -> float:
    """Return a transactional producer's timeout of one request: longer than the timeout of the whole commit.

    A client repeats a request that was not answered in time. The first copy may still be under way, and if a
    request to end a transaction arrives during the next one, it ends that one half done (KIP-890).
    """
    return commit_timeout_seconds + _REPEAT_AFTER_COMMIT_SECONDS


def heartbeat_interval_ms(session_timeout_seconds: float) -> int:
    """Return the interval of a member's heartbeats.

    Its response announces a rebalance: the longer the interval, the longer all members wait.
    """
    return min(_HEARTBEAT_MS, int(session_timeout_seconds * 1000) // 3)
