"""librdkafka's errors in, `ServiceError`s out: the one boundary of this adapter."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from confluent_kafka import KafkaError, KafkaException

from service.errors import (
    AccessRefused,
    ConfigurationError,
    MessageTooLarge,
    OwnershipLost,
    ServiceError,
    TopicMissing,
    TransactionFailed,
    TransportError,
    TransportUnavailable,
)
from service.transport.kafka.limits import HINTS, same_instance

# By name: an older librdkafka does not have every code. Those that begin with _ are librdkafka's own, the
# others the protocol's; what the protocol's mean is the same for both clients, and a test compares them.
MEANINGS: Final[dict[type[ServiceError], str]] = {
    TransportUnavailable: """
        _ALL_BROKERS_DOWN _DESTROY_BROKER _INTR _IN_PROGRESS _ISR_INSUFF _MSG_TIMED_OUT _NODE_UPDATE _NOENT
        _OUTDATED _PREV_IN_PROGRESS _QUEUE_FULL _RESOLVE _RETRY _SSL _TIMED_OUT _TIMED_OUT_QUEUE _TRANSPORT
        _UNKNOWN_BROKER _WAIT_CACHE _WAIT_COORD
        BROKER_NOT_AVAILABLE COORDINATOR_LOAD_IN_PROGRESS COORDINATOR_NOT_AVAILABLE ELECTION_NOT_NEEDED
        ELIGIBLE_LEADERS_NOT_AVAILABLE FENCED_LEADER_EPOCH FETCH_SESSION_ID_NOT_FOUND INCONSISTENT_TOPIC_ID
        INVALID_FETCH_SESSION_EPOCH INVALID_SHARE_SESSION_EPOCH KAFKA_STORAGE_ERROR LEADER_NOT_AVAILABLE
        LISTENER_NOT_FOUND NETWORK_EXCEPTION NOT_CONTROLLER NOT_COORDINATOR NOT_ENOUGH_REPLICAS
        NOT_ENOUGH_REPLICAS_AFTER_APPEND NOT_LEADER_FOR_PARTITION OFFSET_NOT_AVAILABLE
        PREFERRED_LEADER_NOT_AVAILABLE REPLICA_NOT_AVAILABLE REQUEST_TIMED_OUT SHARE_SESSION_NOT_FOUND
        STALE_BROKER_EPOCH STALE_CTRL_EPOCH THROTTLING_QUOTA_EXCEEDED UNKNOWN_CONTROLLER_ID
        UNKNOWN_LEADER_EPOCH UNSTABLE_OFFSET_COMMIT
    """,
    OwnershipLost: """
        _ASSIGNMENT_LOST _FENCED _MAX_POLL_EXCEEDED
        FENCED_MEMBER_EPOCH ILLEGAL_GENERATION INVALID_PRODUCER_EPOCH PRODUCER_FENCED
        STALE_MEMBER_EPOCH UNKNOWN_MEMBER_ID
    """,
    TransactionFailed: """
        _GAPLESS_GUARANTEE _INCONSISTENT _PURGE_INFLIGHT _PURGE_QUEUE
        CONCURRENT_TRANSACTIONS DUPLICATE_SEQUENCE_NUMBER INVALID_PRODUCER_ID_MAPPING INVALID_TXN_STATE
        OUT_OF_ORDER_SEQUENCE_NUMBER REBALANCE_IN_PROGRESS TRANSACTION_ABORTABLE
        TRANSACTION_COORDINATOR_FENCED UNKNOWN_PRODUCER_ID
    """,
    TopicMissing: "_UNKNOWN_PARTITION _UNKNOWN_TOPIC UNKNOWN_TOPIC_ID UNKNOWN_TOPIC_OR_PART",
    AccessRefused: """
        _AUTHENTICATION
        CLUSTER_AUTHORIZATION_FAILED DELEGATION_TOKEN_AUTHORIZATION_FAILED DELEGATION_TOKEN_AUTH_DISABLED
        DELEGATION_TOKEN_EXPIRED DELEGATION_TOKEN_NOT_FOUND DELEGATION_TOKEN_OWNER_MISMATCH
        DELEGATION_TOKEN_REQUEST_NOT_ALLOWED GROUP_AUTHORIZATION_FAILED ILLEGAL_SASL_STATE POLICY_VIOLATION
        SASL_AUTHENTICATION_FAILED SECURITY_DISABLED TOPIC_AUTHORIZATION_FAILED
        TRANSACTIONAL_ID_AUTHORIZATION_FAILED UNACCEPTABLE_CREDENTIAL
    """,
    MessageTooLarge: "MSG_SIZE_TOO_LARGE RECORD_LIST_TOO_LARGE",
    ConfigurationError: """
        _INVALID_ARG _NOT_CONFIGURED
        FENCED_INSTANCE_ID INVALID_GROUP_ID INVALID_PARTITIONS INVALID_REPLICATION_FACTOR
        INVALID_SESSION_TIMEOUT INVALID_TRANSACTION_TIMEOUT TOPIC_EXCEPTION UNSUPPORTED_SASL_MECHANISM
    """,
    # Nothing that the loop could do about them, or nothing that it can meet.
    TransportError: """
        _APPLICATION _ASSIGN_PARTITIONS _AUTO_OFFSET_RESET _BAD_COMPRESSION _BAD_MSG _CONFLICT
        _CRIT_SYS_RESOURCE _DESTROY _EXISTING_SUBSCRIPTION _FAIL _FATAL _FS _INVALID_DIFFERENT_RECORD
        _INVALID_TYPE _KEY_DESERIALIZATION _KEY_SERIALIZATION _LOG_TRUNCATION _NOOP _NOT_IMPLEMENTED
        _NO_OFFSET _PARTIAL _PARTITION_EOF _READ_ONLY _REVOKE_PARTITIONS _STATE _UNDERFLOW _UNKNOWN_GROUP
        _UNKNOWN_PROTOCOL _UNSUPPORTED_FEATURE _VALUE_DESERIALIZATION _VALUE_SERIALIZATION
        DUPLICATE_RESOURCE DUPLICATE_VOTER FEATURE_UPDATE_FAILED FENCED_STATE_EPOCH GROUP_ID_NOT_FOUND
        GROUP_MAX_SIZE_REACHED GROUP_SUBSCRIBED_TO_TOPIC INCONSISTENT_GROUP_PROTOCOL INCONSISTENT_VOTER_SET
        INVALID_COMMIT_OFFSET_SIZE INVALID_CONFIG INVALID_MSG INVALID_MSG_SIZE INVALID_PRINCIPAL_TYPE
        INVALID_RECORD INVALID_RECORD_STATE INVALID_REGISTRATION INVALID_REGULAR_EXPRESSION
        INVALID_REPLICA_ASSIGNMENT INVALID_REQUEST INVALID_REQUIRED_ACKS INVALID_TIMESTAMP
        INVALID_UPDATE_VERSION INVALID_VOTER_KEY LOG_DIR_NOT_FOUND MEMBER_ID_REQUIRED
        MISMATCHED_ENDPOINT_TYPE NON_EMPTY_GROUP NO_ERROR NO_REASSIGNMENT_IN_PROGRESS
        OFFSET_METADATA_TOO_LARGE OFFSET_OUT_OF_RANGE OPERATION_NOT_ATTEMPTED
        PRINCIPAL_DESERIALIZATION_FAILURE REASSIGNMENT_IN_PROGRESS REBOOTSTRAP_REQUIRED RESOURCE_NOT_FOUND
        SHARE_SESSION_LIMIT_REACHED STREAMS_INVALID_TOPOLOGY STREAMS_INVALID_TOPOLOGY_EPOCH
        STREAMS_TOPOLOGY_FENCED TELEMETRY_TOO_LARGE TOPIC_ALREADY_EXISTS TOPIC_DELETION_DISABLED UNKNOWN
        UNKNOWN_SUBSCRIPTION_ID UNRELEASED_INSTANCE_ID UNSUPPORTED_ASSIGNOR UNSUPPORTED_COMPRESSION_TYPE
        UNSUPPORTED_ENDPOINT_TYPE UNSUPPORTED_FOR_MESSAGE_FORMAT UNSUPPORTED_VERSION VOTER_NOT_FOUND
    """,
}
MEANING_OF: Final = {
    getattr(KafkaError, name): meaning
    for meaning, names in MEANINGS.items()
    for name in names.split()
    if hasattr(KafkaError, name)
}

# A fatal error that librdkafka meets while it serves a call comes out of that call as a bare KafkaError,
# raised although it is no BaseException: `except Exception` does not stop it, its own name does.
# If it has a callback to make as well, the call fails with SystemError, caused by the error.
FOREIGN: Final = (
    KafkaException,
    KafkaError,
    BufferError,
    OSError,
    RuntimeError,
    SystemError,
    ValueError,
)
"""Whatever a client raises: RuntimeError and ValueError for a closed one and for arguments."""


def meaning_of(error: KafkaError) -> type[ServiceError]:
    """Choose our error for one of librdkafka's; its flags decide where its code does not."""
    meaning = MEANING_OF.get(error.code(), TransportError)
    if meaning is not TransportError:
        return meaning
    if error.txn_requires_abort():
        return TransactionFailed
    return TransportUnavailable if error.retriable() else TransportError


def _is_same_instance(error: KafkaError) -> bool:
    """Return whether another static member has our name; a consumer is told so in words."""
    return bool(
        error.code() == KafkaError.FENCED_INSTANCE_ID
        or (error.code() == KafkaError._FATAL and "group.instance.id" in error.str())  # noqa: SLF001
    )


def translate(error: object, where: str) -> ServiceError:
    """Make our error of what a client has raised or told; `where` names the cluster, topic or partition."""
    if isinstance(error, ServiceError):
        return error
    if isinstance(error, SystemError) and error.__cause__ is not None:
        error = error.__cause__
    if isinstance(error, KafkaException) and error.args:
        error = error.args[0]
    if isinstance(error, KafkaError) and _is_same_instance(error):
        return same_instance(where, error.name())
    if isinstance(error, KafkaError):
        kind, said = meaning_of(error), f"{error.name()}: {error.str()}"
    else:
        kind = TransportUnavailable if isinstance(error, (OSError, BufferError)) else TransportError
        said = f"{type(error).__name__}: {error}"
    return kind(f"{where}: {said}", hint=HINTS.get(kind, ""))


@contextmanager
def translated(where: str) -> Iterator[None]:
    """Let nothing foreign out of the block."""
    try:
        yield
    except FOREIGN as error:
        raise translate(error, where) from as_exception(error)


def as_exception(error: object) -> Exception:
    """Return something that may be the cause of an exception; a bare KafkaError may not."""
    return error if isinstance(error, Exception) else KafkaException(error)
