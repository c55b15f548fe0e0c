"""Translate librdkafka's errors into `ServiceError`s: the one boundary of this adapter."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from confluent_kafka import KafkaError, KafkaException

from service.errors import ServiceError, TransactionFailed, TransportError, TransportUnavailable
from service.stream.kafka.errors import TABLE, meanings, same_instance, with_hint

_CALLED: Final[dict[str, str]] = TABLE["called"]
# By code; an older librdkafka lacks some.
MEANING_OF: Final = {
    getattr(KafkaError, called): meaning
    for name, meaning in (meanings("protocol") | meanings("librdkafka")).items()
    if hasattr(KafkaError, called := _CALLED.get(name, name))
}

# A fatal error during a call is raised from that call as a bare KafkaError, although that is not a
# BaseException: `except Exception` does not catch it, `except KafkaError` does. If a callback is due as well,
# the call fails with SystemError, caused by the error.
FOREIGN: Final = (KafkaException, KafkaError, BufferError, OSError, RuntimeError, SystemError, ValueError)
"""The errors that a client raises; RuntimeError and ValueError if it is closed, or for invalid arguments."""


def hides_fatal_error(error: SystemError | KafkaException) -> bool:
    """Return whether an error hides a fatal one, lost between two callbacks or raised on another thread."""
    if isinstance(error, SystemError):
        return error.__cause__ is None
    return bool(error.args[0].code() == KafkaError._FATAL)  # noqa: SLF001 - published so


def meaning_of(error: KafkaError) -> type[ServiceError]:
    """Return the `ServiceError` of a librdkafka error, by its code or else its flags."""
    meaning = MEANING_OF.get(error.code(), TransportError)
    if meaning is not TransportError:
        return meaning
    if error.txn_requires_abort():
        return TransactionFailed
    return TransportUnavailable if error.retriable() else TransportError


def _is_same_instance(error: KafkaError) -> bool:
    """Return whether another static member has this instance id; librdkafka reports that only as text."""
    return bool(
        error.code() == KafkaError.FENCED_INSTANCE_ID
        or (error.code() == KafkaError._FATAL and "group.instance.id" in error.str())  # noqa: SLF001
    )


def translate(error: object, where: str) -> ServiceError:
    """Translate an error of a client; `where` names the cluster, topic or partition."""
    if isinstance(error, ServiceError):
        return error
    if isinstance(error, SystemError) and error.__cause__ is not None:
        error = error.__cause__
    if isinstance(error, KafkaException) and error.args:
        error = error.args[0]
    if isinstance(error, KafkaError) and _is_same_instance(error):
        return same_instance(where, error.name())
    if isinstance(error, KafkaError):
        kind, text = meaning_of(error), f"{error.name()}: {error.str()}"
    else:
        kind = TransportUnavailable if isinstance(error, (OSError, BufferError)) else TransportError
        text = f"{type(error).__name__}: {error}"
    return with_hint(kind, f"{where}: {text}")


@contextmanager
def translated(where: str) -> Iterator[None]:
    """Translate every foreign error raised in the block."""
    try:
        yield
    except FOREIGN as error:
        raise translate(error, where) from as_exception(error)


def as_exception(error: object) -> Exception:
    """Return an exception that can be a cause, which a bare KafkaError cannot."""
    return error if isinstance(error, Exception) else KafkaException(error)
