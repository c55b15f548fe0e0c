"""The `ServiceError` for each error of the Kafka protocol, by its name in the protocol."""

from __future__ import annotations

import tomllib
from pathlib import Path
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
    TransportError,
    TransportUnavailable,
)

Kind = TypeVar("Kind", bound=ServiceError)


class GenerationChanged(TransactionFailed):
    """The group shares out its partitions: offsets were handed over for another generation than its own."""


TABLE: Final = tomllib.loads(Path(__file__).with_name("errors.toml").read_text(encoding="utf-8"))
"""The errors by what they become; see there."""
_KINDS: Final = (
    *(AccessRefused, ConfigurationError, GenerationChanged, MessageTooLarge, OwnershipLost, TopicMissing),
    *(TransactionFailed, TransportError, TransportUnavailable),
)
HINTS: Final[dict[type[ServiceError], str]] = {kind: TABLE[kind.__name__].get("hint", "") for kind in _KINDS}


def meanings(whose: str) -> dict[str, type[ServiceError]]:
    """Return the meaning of each name in the protocol, or of those of librdkafka alone."""
    return {name: kind for kind in _KINDS for name in TABLE[kind.__name__].get(whose, "").split()}


def hinted(kind: type[Kind], what: str) -> Kind:
    """Make an error of this kind, with the hint that belongs to it."""
    return kind(what, hint=HINTS.get(kind, ""))


def missing(topic: str, where: str) -> TopicMissing:
    """Make the error for a topic that is not there."""
    return hinted(TopicMissing, f"{where}: topic {topic!r} does not exist")


def out_of_range(topic: str, partition: int, offset: int) -> OffsetOutOfRange:
    """Make the error for a position that has no record and gets none."""
    return OffsetOutOfRange(
        f"{topic}[{partition}]@{offset}: the offset does not exist, or was deleted", partition=partition
    )


def away(where: str) -> TransportUnavailable:
    """Make the error for a cluster that is silent."""
    return hinted(TransportUnavailable, f"{where} does not answer")


def unresolved(where: str) -> TransportUnavailable:
    """Make the error for a cluster none of whose host names has an address."""
    return TransportUnavailable(
        f"{where}: unknown host", hint="check the host name in `broker`, and this machine's DNS"
    )


def same_instance(where: str, name: str) -> ConfigurationError:
    """Make the error for a static member that another one has replaced; `name` is the client's."""
    return ConfigurationError(
        f"{where}: {name}: another process has the same `kafka.instance_id`",
        hint="give each process its own `kafka.instance_id`, or unset it",
    )


def no_tls(where: str, reason: str) -> AccessRefused:
    """Make the error for a handshake that one side has refused: trying again would not help."""
    return AccessRefused(
        f"{where}: TLS failed: {reason}",
        hint="check the host in `broker`, `kafka.ssl_cafile` and `kafka.ssl_certfile`",
    )
