"""Translate kafka-python's errors into `ServiceError`s: the one boundary of this adapter."""

from __future__ import annotations

import logging
import ssl
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from kafka import errors as kafka_errors
from kafka.errors import KafkaError, KafkaTimeoutError

from service.errors import (
    AccessDenied,
    ConfigurationError,
    OwnershipLost,
    ServiceError,
    TransactionFailed,
    TransportError,
    TransportUnavailable,
)
from service.stream.kafka.errors import meanings, no_tls, same_instance, unknown_host, unreachable, with_hint

# kafka-python's own errors. KafkaError and RetriableError match all others.
OWN_MEANINGS: Final[dict[type[KafkaError], type[ServiceError]]] = {
    KafkaError: TransportError,
    kafka_errors.RetriableError: TransportUnavailable,
    kafka_errors.UnknownBrokerIdError: TransportUnavailable,
    kafka_errors.CommitFailedError: OwnershipLost,
    kafka_errors.TransactionAbortedError: TransactionFailed,
    kafka_errors.AuthorizationError: AccessDenied,
    kafka_errors.KafkaConfigurationError: ConfigurationError,
}
_REJECTIONS: Final = (
    ssl.SSLError,
    kafka_errors.AuthorizationError,
    kafka_errors.SaslAuthenticationFailedError,
    kafka_errors.UnsupportedSaslMechanismError,
)
_BROKEN_OFF: Final = (ssl.SSLEOFError, ssl.SSLZeroReturnError, ssl.SSLSyscallError)
"""Errors of a handshake that the broker broke off, which is not a rejection."""
_NO_ADDRESS: Final = "DNS Resolution failure"
"""Part of kafka-python's message for a host name without an address, for which it has no error class."""
_CLOSED: Final = "socket disconnected"
"""Part of kafka-python's message for a connection that the broker closed."""
_CODEC_HINT: Final = (
    "pip install lz4, python-snappy or zstandard, as named; or choose --kafka-client confluent"
)
_MEANING_OF: Final = meanings("protocol")


def meaning_of(foreign: type[KafkaError]) -> type[ServiceError]:
    """Return the `ServiceError` of a Kafka error, or of its nearest ancestor that has one."""
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
    return with_hint(kind, f"{where}: {_describe(error)}")


@contextmanager
def translated(where: str) -> Iterator[None]:
    """Translate every foreign error raised in the block."""
    try:
        yield
    except (KafkaError, OSError, RuntimeError, ValueError) as error:
        # kafka-python raises RuntimeError and ValueError for a closed client and for invalid arguments.
        raise translate(error, where) from error


class _FailureNotes(logging.Filter):
    """Collects the errors that kafka-python logs while it connects, whatever the log level."""

    def __init__(self) -> None:
        super().__init__()
        self.wanted: list[list[Exception]] = []
        logger = logging.getLogger("kafka.net.manager")
        logger.setLevel(logging.WARNING)
        logger.addFilter(self)

    def filter(self, record: logging.LogRecord) -> bool:
        """Note the errors of a line; return whether the log level lets it pass."""
        given = record.args if isinstance(record.args, tuple) else ()
        met = [_tls_failure(each) or each for each in given if isinstance(each, Exception)]
        for failures in self.wanted:
            failures.extend(met)
        return logging.getLogger("kafka").isEnabledFor(record.levelno)


_notes: Final = _FailureNotes()


@contextmanager
def noted_failures() -> Iterator[list[Exception]]:
    """Collect the errors that clients meet when they connect in the block.

    kafka-python retries until its time limit, and then reports only the timeout.
    """
    failures: list[Exception] = []
    _notes.wanted.append(failures)
    try:
        yield failures
    finally:
        _notes.wanted = [each for each in _notes.wanted if each is not failures]


def reason_of(error: Exception, failures: Sequence[Exception], where: str, *, logs_in: bool) -> ServiceError:
    """Return the error for a client that could not connect, from its error and earlier failures.

    A broker that rejects a login reports that and closes the connection; kafka-python only reports the
    latter.
    """
    rejection = next((failure for failure in reversed(failures) if isinstance(failure, _REJECTIONS)), error)
    if isinstance(rejection, ssl.SSLError):
        return no_tls(where, getattr(rejection, "verify_message", str(rejection)))
    if not isinstance(rejection, KafkaTimeoutError):
        return translate(rejection, where)
    met = [failure for failure in failures if not isinstance(failure, KafkaTimeoutError)]
    if met and all(_NO_ADDRESS in str(each) for each in met):
        return unknown_host(where)
    if logs_in and any(_CLOSED in str(each) for each in met):
        return with_hint(AccessDenied, f"{where}: authentication failed: each connection was closed at login")
    return unreachable(where)


def _tls_failure(error: Exception) -> ssl.SSLError | None:
    """Return the TLS error of a rejected handshake, which kafka-python wraps; None for any other failure."""
    for each in (error.__context__, *error.args):
        if isinstance(each, ssl.SSLError) and not isinstance(each, _BROKEN_OFF):
            return each
    return None


def _root(error: Exception) -> Exception:
    """Return the cause that kafka-python has wrapped in a bare KafkaError."""
    while type(error) is KafkaError:
        inner = next((each for each in (*error.args, error.__cause__) if isinstance(each, Exception)), None)
        if inner is None:
            return error
        error = inner
    return error


def _describe(error: Exception) -> str:
    """Format a foreign error in one line; most Kafka errors have a description but no message."""
    text = next((str(each) for each in error.args if each), "") or getattr(error, "description", "")
    name = type(error).__name__  # some messages begin with it
    return f"{name}: {text.removeprefix(f'{name}: ')}" if text else name
