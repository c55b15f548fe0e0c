"""The `ServiceError` for each error of the Kafka protocol, by its name in the protocol."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Final, TypeVar

from service.errors import (
    AccessDenied,
    ConfigurationError,
    MessageTooLarge,
    OffsetOutOfRange,
    OwnershipLost,
    ServiceError,
    TopicMissing,
    TransactionFailed,
    TransportError,
    TransportUnavailable,
)

Kind = TypeVar("Kind", bound=ServiceError)


class GenerationChanged(TransactionFailed):
    """A rebalance: the transaction's offsets were of another generation of the group."""


class InvalidRecord(TransportError):
    """A record that the broker rejects, such as one without a key on a compacted topic."""


class UnreadableRecord(TransportError):
    """A record, or a batch of records, that the client cannot decode."""


TABLE: Final = tomllib.loads(Path(__file__).with_name("errors.toml").read_text(encoding="utf-8"))
"""The errors of the protocol by `ServiceError`; see the file."""
_KINDS: Final = (
    *(AccessDenied, ConfigurationError, GenerationChanged, MessageTooLarge, OwnershipLost, TopicMissing),
    *(InvalidRecord, TransactionFailed, TransportError, TransportUnavailable, UnreadableRecord),
)
HINTS: Final[dict[type[ServiceError], str]] = {kind: TABLE[kind.__name__].get("hint", "") for kind in _KINDS}


def meanings(whose: str) -> dict[str, type[ServiceError]]:
    """Return the `ServiceError` of each error name: of the protocol, or only of librdkafka."""
    return {name: kind for kind in _KINDS for name in TABLE[kind.__name__].get(whose, "").split()}


def with_hint(kind: type[Kind], what: str) -> Kind:
    """Return an error of this kind with its hint."""
    return kind(what, hint=HINTS.get(kind, ""))


def missing_topic(topic: str, where: str) -> TopicMissing:
    """Return the error for a missing topic."""
    return with_hint(TopicMissing, f"{where}: topic {topic!r} does not exist")


def out_of_range(topic: str, partition: int, offset: int) -> OffsetOutOfRange:
    """Return the error for an offset that has no record and will not get one."""
    return OffsetOutOfRange(
        f"{topic}[{partition}]@{offset}: the offset does not exist, or was deleted", partition=partition
    )


def unreachable(where: str) -> TransportUnavailable:
    """Return the error for a cluster that does not answer."""
    return with_hint(TransportUnavailable, f"{where} does not answer")


def unknown_host(where: str) -> TransportUnavailable:
    """Return the error for a cluster whose host names have no address."""
    return TransportUnavailable(
        f"{where}: unknown host", hint="check the host name in `broker`, and this machine's DNS"
    )


def same_instance(where: str, name: str) -> ConfigurationError:
    """Return the error for a static member that was replaced by another; `name` is the instance id."""
    return ConfigurationError(
        f"{where}: {name}: another process has the same `kafka.instance_id`",
        hint="give each process its own `kafka.instance_id`, or unset it",
    )


def no_tls(where: str, reason: str) -> AccessDenied:
    """Return the error for a rejected TLS handshake, which a retry would not mend."""
    return AccessDenied(
        f"{where}: TLS failed: {reason}",
        hint="check the host in `broker`, `kafka.ssl_cafile` and `kafka.ssl_certfile`",
    )
