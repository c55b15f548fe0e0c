"""A Kafka broker with a second listener that is reached through a proxy."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable, Iterator
from typing import TypeVar

from tests.support.cutting_proxy import CuttingProxy
from tests.support.kafka_broker import KafkaBroker

Proxy = TypeVar("Proxy", bound=CuttingProxy)


@contextlib.contextmanager
def proxied_broker(
    make_broker: Callable[[], KafkaBroker], make_proxy: Callable[[int], Proxy]
) -> Iterator[tuple[Proxy, KafkaBroker]]:
    """Start a broker that sends whoever comes through the proxy back through it."""
    broker = make_broker()
    proxied_port = _free_port()
    with make_proxy(proxied_port) as proxy:
        lines = broker._properties.read_text().splitlines()
        settings = dict(line.split("=", 1) for line in lines)
        broker._write_properties(
            {
                "listeners": f"{settings['listeners']},PROXIED://127.0.0.1:{proxied_port}",
                "advertised.listeners": (
                    f"{settings['advertised.listeners']},PROXIED://127.0.0.1:{proxy.port}"
                ),
                "listener.security.protocol.map": (
                    f"{settings['listener.security.protocol.map']},PROXIED:PLAINTEXT"
                ),
                "inter.broker.listener.name": "PLAINTEXT",
            }
        )
        with broker:
            yield proxy, broker


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port
