"""The `ServiceError` for each error of the Kafka protocol, by its name in the protocol."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeVar

from service.errors import (
    AccessRefused,
    ConfigurationError,
    MessageTooLarge,
    OffsetOutOfRange,
    OwnershipLost,
    ServiceError,
    TopicMissing,
    TransactionFailed,
    TransportUnavailable,
)

Kind = TypeVar("Kind", bound=ServiceError)


class GenerationChanged(TransactionFailed):
    """The group shares out its partitions: offsets were handed over for another generation than its own."""


MEANINGS: Final[dict[type[ServiceError], str]] = {
    TransportUnavailable: """
        BROKER_NOT_AVAILABLE COORDINATOR_LOAD_IN_PROGRESS COORDINATOR_NOT_AVAILABLE ELECTION_NOT_NEEDED
        ELIGIBLE_LEADERS_NOT_AVAILABLE FENCED_LEADER_EPOCH FETCH_SESSION_ID_NOT_FOUND
        FETCH_SESSION_TOPIC_ID_ERROR INCONSISTENT_TOPIC_ID INVALID_FETCH_SESSION_EPOCH
        INVALID_SHARE_SESSION_EPOCH KAFKA_STORAGE_ERROR LEADER_NOT_AVAILABLE LISTENER_NOT_FOUND
        NETWORK_EXCEPTION NOT_CONTROLLER NOT_COORDINATOR NOT_ENOUGH_REPLICAS
        NOT_ENOUGH_REPLICAS_AFTER_APPEND NOT_LEADER_FOR_PARTITION OFFSET_NOT_AVAILABLE
        PREFERRED_LEADER_NOT_AVAILABLE REPLICA_NOT_AVAILABLE REQUEST_TIMED_OUT SHARE_SESSION_NOT_FOUND
        STALE_BROKER_EPOCH STALE_CONTROLLER_EPOCH THROTTLING_QUOTA_EXCEEDED UNKNOWN_CONTROLLER_ID
        UNKNOWN_LEADER_EPOCH UNSTABLE_OFFSET_COMMIT
    """,
    OwnershipLost: """
        FENCED_MEMBER_EPOCH INVALID_PRODUCER_EPOCH PRODUCER_FENCED STALE_MEMBER_EPOCH UNKNOWN_MEMBER_ID
    """,
    GenerationChanged: "ILLEGAL_GENERATION REBALANCE_IN_PROGRESS",
    # Sequences and ids that the broker does not recognise: some batch was lost or the broker has
    # forgotten the producer.
    TransactionFailed: """
        CONCURRENT_TRANSACTIONS DUPLICATE_SEQUENCE_NUMBER INVALID_PRODUCER_ID_MAPPING INVALID_TXN_STATE
        OUT_OF_ORDER_SEQUENCE_NUMBER TRANSACTIONAL_ID_NOT_FOUND
        TRANSACTION_ABORTABLE TRANSACTION_COORDINATOR_FENCED UNKNOWN_PRODUCER_ID
    """,
    TopicMissing: "UNKNOWN_TOPIC_ID UNKNOWN_TOPIC_OR_PARTITION",
    AccessRefused: """
        CLUSTER_AUTHORIZATION_FAILED DELEGATION_TOKEN_AUTHORIZATION_FAILED DELEGATION_TOKEN_AUTH_DISABLED
        DELEGATION_TOKEN_EXPIRED DELEGATION_TOKEN_NOT_FOUND DELEGATION_TOKEN_OWNER_MISMATCH
        DELEGATION_TOKEN_REQUEST_NOT_ALLOWED GROUP_AUTHORIZATION_FAILED ILLEGAL_SASL_STATE POLICY_VIOLATION
        SASL_AUTHENTICATION_FAILED SECURITY_DISABLED TOPIC_AUTHORIZATION_FAILED
        TRANSACTIONAL_ID_AUTHORIZATION_FAILED UNACCEPTABLE_CREDENTIAL
    """,
    MessageTooLarge: "MESSAGE_SIZE_TOO_LARGE RECORD_LIST_TOO_LARGE",
    ConfigurationError: """
        FENCED_INSTANCE_ID INVALID_GROUP_ID INVALID_PARTITIONS INVALID_REPLICATION_FACTOR
        INVALID_SESSION_TIMEOUT INVALID_TOPIC INVALID_TRANSACTION_TIMEOUT UNSUPPORTED_SASL_MECHANISM
    """,
}
"""The protocol's errors by name, whichever client reports them; each adapter adds its client's own.

All others are `TransportError`: the loop could do nothing about them, or cannot meet them.
"""


def by_name(meanings: Mapping[type[ServiceError], str]) -> dict[str, type[ServiceError]]:
    """Return the meaning of each name."""
    return {name: meaning for meaning, names in meanings.items() for name in names.split()}


HINTS: Final[dict[type[ServiceError], str]] = {
    TransportUnavailable: "check that the broker runs and that `broker` and `kafka.security_protocol` fit it",
    OwnershipLost: "another member of the group has taken over; nothing has to be done",
    TransactionFailed: "the batch is done again from the last commit",
    GenerationChanged: "the batch is done again from the last commit",
    TopicMissing: "create the topic, or correct the setting that names it",
    AccessRefused: "check the `kafka.sasl_` and `kafka.ssl_` settings, and the broker's access rules",
    MessageTooLarge: "raise `max.message.bytes` of the topic, or send smaller messages",
}


def hinted(kind: type[Kind], what: str) -> Kind:
    """Make an error of this kind, with the hint that belongs to it."""
    return kind(what, hint=HINTS.get(kind, ""))


def missing(topic: str, where: str) -> TopicMissing:
    """Make the error for a topic that is not there."""
    return hinted(TopicMissing, f"{where} has no topic {topic!r}")


def out_of_range(topic: str, partition: int, offset: int) -> OffsetOutOfRange:
    """Make the error for a position that has no record and gets none."""
    return OffsetOutOfRange(
        f"{topic}[{partition}]@{offset}: the topic has no such offset (any more)", partition=partition
    )


def away(where: str) -> TransportUnavailable:
    """Make the error for a cluster that is silent."""
    return hinted(TransportUnavailable, f"{where} does not answer")


def unresolved(where: str) -> TransportUnavailable:
    """Make the error for a cluster none of whose host names has an address."""
    return TransportUnavailable(
        f"{where}: no such host: the name cannot be resolved",
        hint="check the host name in `broker`, and that this machine's name server knows it",
    )


def same_instance(where: str, name: str) -> ConfigurationError:
    """Make the error for a static member that another one has replaced; `name` is the client's."""
    return ConfigurationError(
        f"{where}: {name}: another process has joined the group with the same `kafka.instance_id`",
        hint="give each process a `kafka.instance_id` of its own, or none",
    )


def no_tls(where: str, reason: str) -> AccessRefused:
    """Make the error for a handshake that one side has refused: trying again would not help."""
    return AccessRefused(
        f"{where}: no TLS connection: {reason}",
        hint="the broker's certificate must name the host in `broker` and come from an authority in "
        "`kafka.ssl_cafile`; a broker that wants one of yours gets `kafka.ssl_certfile`",
    )
