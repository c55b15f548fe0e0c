"""Translate librdkafka's errors into `ServiceError`s: the one boundary of this adapter."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from confluent_kafka import KafkaError, KafkaException

from service.errors import (
    ServiceError,
    TransactionFailed,
    TransportError,
    TransportUnavailable,
)
from service.stream.kafka.errors import TABLE, hinted, meanings, same_instance

_CALLED: Final[dict[str, str]] = TABLE["called"]
# By code. An older librdkafka does not have all of them.
MEANING_OF: Final = {
    getattr(KafkaError, called): meaning
    for name, meaning in (meanings("protocol") | meanings("librdkafka")).items()
    if hasattr(KafkaError, called := _CALLED.get(name, name))
}

# A fatal error that librdkafka meets while it serves a call comes out of that call as a bare KafkaError,
# raised although it is not a BaseException: `except Exception` does not stop it, its own name does.
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


def hides_fatal_error(error: SystemError | KafkaException) -> bool:
    """Return whether an error hides a fatal one, lost between two callbacks or met by another thread."""
    if isinstance(error, SystemError):
        return error.__cause__ is None
    return bool(error.args[0].code() == KafkaError._FATAL)  # noqa: SLF001 - published so


def meaning_of(error: KafkaError) -> type[ServiceError]:
    """Choose the `ServiceError` for one of librdkafka's; its flags decide where its code does not."""
    meaning = MEANING_OF.get(error.code(), TransportError)
    if meaning is not TransportError:
        return meaning
    if error.txn_requires_abort():
        return TransactionFailed
    return TransportUnavailable if error.retriable() else TransportError


def _is_same_instance(error: KafkaError) -> bool:
    """Return whether another static member has this name; librdkafka tells a consumer so in words."""
    return bool(
        error.code() == KafkaError.FENCED_INSTANCE_ID
        or (error.code() == KafkaError._FATAL and "group.instance.id" in error.str())  # noqa: SLF001
    )


def translate(error: object, where: str) -> ServiceError:
    """Translate what a client has raised or reported; `where` names the cluster, topic or partition."""
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
    return hinted(kind, f"{where}: {text}")


@contextmanager
def translated(where: str) -> Iterator[None]:
    """Translate every foreign error raised in the block."""
    try:
        yield
    except FOREIGN as error:
        raise translate(error, where) from as_exception(error)


def as_exception(error: object) -> Exception:
    """Return something that may be the cause of an exception; a bare KafkaError may not."""
    return error if isinstance(error, Exception) else KafkaException(error)
