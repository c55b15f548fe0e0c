"""Translate kafka-python's errors into `ServiceError`s: the one boundary of this adapter."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from kafka import errors as kafka_errors
from kafka.errors import KafkaError

from service.errors import (
    AccessRefused,
    ConfigurationError,
    OwnershipLost,
    ServiceError,
    TransactionFailed,
    TransportError,
    TransportUnavailable,
)
from service.transport.kafka.errors import MEANINGS, by_name, hinted, same_instance

# kafka-python's own. KafkaError and RetriableError catch what has no line of its own.
OWN_MEANINGS: Final[dict[type[KafkaError], type[ServiceError]]] = {
    KafkaError: TransportError,
    kafka_errors.RetriableError: TransportUnavailable,
    kafka_errors.UnknownBrokerIdError: TransportUnavailable,
    kafka_errors.CommitFailedError: OwnershipLost,
    kafka_errors.TransactionAbortedError: TransactionFailed,
    kafka_errors.AuthorizationError: AccessRefused,
    kafka_errors.KafkaConfigurationError: ConfigurationError,
}
_CODEC_HINT: Final = (
    "records are compressed: pip install lz4, python-snappy or zstandard, whichever is named; or use "
    "--kafka-client confluent, which reads all"
)
_MEANING_OF: Final = by_name(MEANINGS)


def meaning_of(foreign: type[KafkaError]) -> type[ServiceError]:
    """Choose the `ServiceError` for one of Kafka's: the nearest ancestor that has a meaning decides."""
    meanings = (
        _MEANING_OF.get(vars(ancestor).get("message", "")) or OWN_MEANINGS.get(ancestor)
        for ancestor in foreign.__mro__
    )
    return next(filter(None, meanings))


def translate(error: Exception, where: str) -> ServiceError:
    """Translate a foreign error; `where` names the cluster, topic or partition."""
    error = _root(error)
    if isinstance(error, ServiceError):
        return error
    if isinstance(error, kafka_errors.FencedInstanceIdError):
        return same_instance(where, type(error).__name__)
    if isinstance(error, kafka_errors.UnsupportedCodecError):
        return TransportError(f"{where}: {_describe(error)}", hint=_CODEC_HINT)
    if isinstance(error, KafkaError):
        kind = meaning_of(type(error))
    else:
        kind = TransportUnavailable if isinstance(error, OSError) else TransportError
    return hinted(kind, f"{where}: {_describe(error)}")


@contextmanager
def translated(where: str) -> Iterator[None]:
    """Translate every foreign error raised in the block."""
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
    """Write a foreign error in one line; most of Kafka's have a description but no message."""
    text = next((str(each) for each in error.args if each), "") or getattr(error, "description", "")
    name = type(error).__name__  # which some of Kafka's begin with
    return f"{name}: {text.removeprefix(f'{name}: ')}" if text else name
