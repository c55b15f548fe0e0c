"""Open a stream by its URL: `memory://`, `sqlite:///…`, `kafka://…`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from service.errors import ConfigurationError, TransportError
from service.redaction import redacted_url
from service.stream.protocol import KafkaClient, Transport

if TYPE_CHECKING:
    from service.stream.kafka.cluster import KafkaCluster

__all__ = ["open_transport"]

# A client is imported when its kind of stream is opened: importing an unused one would take time.

_SERVER = re.compile(r"(?P<host>\[[0-9A-Fa-f:.]+\]|[^\s:/@\[\]]+):(?P<port>\d{1,5})")
_MAX_PORT = 65535


def open_transport(
    url: str,
    *,
    kafka: Mapping[str, Any] | None = None,
    kafka_client: KafkaClient = "kafka-python",
    create: bool = True,
) -> Transport:
    """Open the stream at `url`.

    Parameters
    ----------
    url
        `kafka://host:9092[,host2:9092]`; `sqlite:///relative.db` or `sqlite:////absolute/path.db`
        (`~` is the home directory); `memory://` for a separate stream, or
        `memory://name` for a stream shared within the process.
    kafka
        For `kafka://`: the attributes of `ClientOptions`, and `client_options`, which the client package gets
        for everything it opens: mostly security.
    kafka_client
        The client package for `kafka://`.
    create
        Whether to create a missing `sqlite://` file: False for commands that only read.

    Raises
    ------
    ConfigurationError
        The URL has none of these forms; the package is not installed.
    TransportError
        The stream cannot be opened; see the subclasses.

    """
    scheme, separator, address = url.partition("://")
    if separator and scheme == "memory":
        from service.stream.sqlite import MemoryTransport  # noqa: PLC0415

        return MemoryTransport(address)
    if separator and scheme == "sqlite" and address.startswith("/") and not address.endswith("/"):
        path = Path(address[1:]).expanduser()
        if not create and not (path.exists() and path.stat().st_size):  # an empty file would become a stream
            raise TransportError(
                f"{address[1:]}: no stream found",
                hint="check --broker; `perceptron produce` or `serve` creates a stream",
            )
        from service.stream.sqlite import SqliteTransport  # noqa: PLC0415

        return SqliteTransport(address[1:])
    if separator and scheme == "kafka":
        from service.stream.kafka.limits import ClientOptions  # noqa: PLC0415
        from service.stream.kafka.transport import KafkaTransport  # noqa: PLC0415

        times = dict(kafka or {})
        client_options = times.pop("client_options", {})
        cluster = _cluster(kafka_client)(_servers(url, address), client_options)
        return KafkaTransport(cluster, ClientOptions(**times))
    raise _malformed(url)


def _cluster(client: KafkaClient) -> type[KafkaCluster]:
    """Import the adapter for a client."""
    from service.stream.kafka.cluster import RELEASES  # noqa: PLC0415

    release = RELEASES[client]
    try:
        adapter = import_module(f"service.stream.kafka.{client.replace('-', '_')}.cluster")
    except ImportError as error:
        if isinstance(error, ModuleNotFoundError) and error.name == release.package:
            raise ConfigurationError.needs(f"kafka_client: {client}", release.name, client) from None
        if (error.name or "").partition(".")[0] != release.package:
            raise
        raise release.unsupported(str(error)) from error
    cluster: type[KafkaCluster] = getattr(adapter, release.cluster)
    return cluster


def _servers(url: str, address: str) -> list[str]:
    servers = address.split(",")
    for server in servers:
        match = _SERVER.fullmatch(server)
        if not match or not 0 < int(match["port"]) <= _MAX_PORT:
            raise _malformed(url)
    return servers


def _malformed(url: str) -> ConfigurationError:
    return ConfigurationError(
        f"broker: expected the URL of a stream, got {redacted_url(url)!r}",
        hint="set `broker` to kafka://host:9092[,host2:9092], sqlite:///path/to/stream.db or memory://",
    )
