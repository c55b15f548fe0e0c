"""Kafka's errors in, `ServiceError`s out: the one boundary of this adapter."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from kafka import errors as kafka_errors
from kafka.errors import KafkaError

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

# The nearest ancestor of an error decides; KafkaError and RetriableError catch what has no line of its own.
MEANINGS: Final[dict[type[ServiceError], tuple[type[KafkaError], ...]]] = {
    TransportError: (KafkaError,),
    TransportUnavailable: (
        kafka_errors.RetriableError,
        kafka_errors.BrokerNotAvailableError,
        kafka_errors.StaleBrokerEpochError,
        kafka_errors.StaleControllerEpochError,
        kafka_errors.UnknownBrokerIdError,
        kafka_errors.UnknownControllerIdError,
    ),
    OwnershipLost: (
        kafka_errors.CommitFailedError,
        kafka_errors.FencedMemberEpochError,
        kafka_errors.IllegalGenerationError,
        kafka_errors.InvalidProducerEpochError,
        kafka_errors.ProducerFencedError,
        kafka_errors.StaleMemberEpochError,
        kafka_errors.UnknownMemberIdError,
    ),
    # Sequences and ids that the broker does not recognise: some batch was lost or the broker has
    # forgotten the producer. A rebalance in progress may leave the partition ours.
    TransactionFailed: (
        kafka_errors.ConcurrentTransactionsError,
        kafka_errors.DuplicateSequenceNumberError,
        kafka_errors.InvalidProducerIdMappingError,
        kafka_errors.InvalidTxnStateError,
        kafka_errors.OutOfOrderSequenceNumberError,
        kafka_errors.RebalanceInProgressError,
        kafka_errors.TransactionAbortableError,
        kafka_errors.TransactionAbortedError,
        kafka_errors.TransactionCoordinatorFencedError,
        kafka_errors.TransactionalIdNotFoundError,
        kafka_errors.UnknownProducerIdError,
    ),
    TopicMissing: (
        kafka_errors.UnknownTopicIdError,
        kafka_errors.UnknownTopicOrPartitionError,
    ),
    AccessRefused: (
        kafka_errors.AuthorizationError,
        kafka_errors.DelegationTokenAuthDisabledError,
        kafka_errors.DelegationTokenExpiredError,
        kafka_errors.DelegationTokenNotFoundError,
        kafka_errors.DelegationTokenOwnerMismatchError,
        kafka_errors.DelegationTokenRequestNotAllowedError,
        kafka_errors.IllegalSaslStateError,
        kafka_errors.PolicyViolationError,
        kafka_errors.SaslAuthenticationFailedError,
        kafka_errors.SecurityDisabledError,
        kafka_errors.UnacceptableCredentialError,
    ),
    MessageTooLarge: (
        kafka_errors.MessageSizeTooLargeError,
        kafka_errors.RecordListTooLargeError,
    ),
    ConfigurationError: (
        kafka_errors.FencedInstanceIdError,
        kafka_errors.InvalidGroupIdError,
        kafka_errors.InvalidPartitionsError,
        kafka_errors.InvalidReplicationFactorError,
        kafka_errors.InvalidSessionTimeoutError,
        kafka_errors.InvalidTopicError,
        kafka_errors.InvalidTransactionTimeoutError,
        kafka_errors.KafkaConfigurationError,
        kafka_errors.UnsupportedSaslMechanismError,
    ),
}
_MEANING_OF: Final = {foreign: ours for ours, several in MEANINGS.items() for foreign in several}


def meaning_of(foreign: type[KafkaError]) -> type[ServiceError]:
    """Choose our error for one of Kafka's."""
    return next(_MEANING_OF[ancestor] for ancestor in foreign.__mro__ if ancestor in _MEANING_OF)


def translate(error: Exception, where: str) -> ServiceError:
    """Make our error of a foreign one; `where` names the cluster, topic or partition."""
    error = _root(error)
    if isinstance(error, ServiceError):
        return error
    if isinstance(error, kafka_errors.FencedInstanceIdError):
        return same_instance(where, type(error).__name__)
    if isinstance(error, KafkaError):
        kind = meaning_of(type(error))
    else:
        kind = TransportUnavailable if isinstance(error, OSError) else TransportError
    return kind(f"{where}: {_describe(error)}", hint=HINTS.get(kind, ""))


@contextmanager
def translated(where: str) -> Iterator[None]:
    """Let nothing foreign out of the block."""
    try:
        yield
    except (KafkaError, OSError, RuntimeError, ValueError) as error:
        # RuntimeError and ValueError are what kafka-python raises for a closed client and for arguments.
        raise translate(error, where) from error


def _root(error: Exception) -> Exception:
    """Find the reason that kafka-python has wrapped in a bare KafkaError."""
    while type(error) is KafkaError:
        inner = next((each for each in (*error.args, error.__cause__) if isinstance(each, Exception)), None)
        if inner is None:
            return error
        error = inner
    return error


def _describe(error: Exception) -> str:
    """Put a foreign error in one line; most of Kafka's have a description but no message."""
    said = next((str(each) for each in error.args if each), "") or getattr(error, "description", "")
    name = type(error).__name__  # which some of Kafka's begin with
    return f"{name}: {said.removeprefix(f'{name}: ')}" if said else name
