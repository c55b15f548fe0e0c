"""A TCP proxy before a Kafka broker that holds the end of a transaction and delivers it during the next one.

It passes the requests of clients on to the broker, one of them far too late.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from enum import Enum
from typing import Final, Self

from tests.support.kafka_broker import KafkaBroker, free_ports

PRODUCE: Final = 0
END_TXN: Final = 26
TXN_OFFSET_COMMIT: Final = 28
_HEADER: Final = struct.Struct(">ih")  # size of the request, and which one it is
_PATIENCE_SECONDS: Final = 30.0


class Loss(Enum):
    """What the client notices of the request that is held."""

    CONNECTION = "the connection breaks"
    ANSWER = "no answer comes"


class HoldingProxy:
    """Holds an EndTxn, lets its repetition pass, and delivers it before a request of the next transaction.

    It listens on a free port of 127.0.0.1.

    Parameters
    ----------
    target_port
        The broker's port there.

    """

    def __init__(self, target_port: int) -> None:
        self._target_port = target_port
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._server.getsockname()[1]
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        self._armed: Loss | None = None
        self._release_before: int | None = None
        self._held: socket.socket | None = None
        self._release, self._delivered = threading.Event(), threading.Event()
        self.deliveries = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def hold(self, loss: Loss, *, release_before: int) -> None:
        """Hold the next EndTxn until a request of the kind `release_before` comes after its repetition."""
        with self._lock:
            self._release, self._delivered = threading.Event(), threading.Event()
            self._armed, self._release_before = loss, release_before

    def let_go(self) -> None:
        """Deliver what is still held."""
        with self._lock:
            self._armed = self._release_before = None
        self._release.set()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):  # closed
            while True:
                client, _ = self._server.accept()
                try:
                    broker = socket.create_connection(("127.0.0.1", self._target_port))
                except OSError:
                    _close(client)
                    continue
                with self._lock:
                    self._open |= {client, broker}
                for forward in (self._requests, self._answers):
                    threading.Thread(target=self._run, args=(forward, client, broker), daemon=True).start()

    def _run(self, forward, client: socket.socket, broker: socket.socket) -> None:
        with contextlib.suppress(OSError):
            forward(client, broker)
        with self._lock:
            self._open -= {client, broker}
        _close(client)
        _close(broker)

    def _requests(self, client: socket.socket, broker: socket.socket) -> None:
        is_repeated = False
        while head := _read(client, _HEADER.size):
            size, kind = _HEADER.unpack(head)
            request = head + _read(client, size - 2)
            with self._lock:
                loss = self._armed if kind == END_TXN else None
                if loss is not None:
                    self._armed, self._held = None, broker
                is_repeated = self._held is not None and self._held is not broker
                now = is_repeated and kind == self._release_before
                if now:
                    self._release_before = None
            if loss is not None:
                return self._deliver_late(loss, request, client, broker)
            if now:
                self._release.set()
                self._delivered.wait(_PATIENCE_SECONDS)
            broker.sendall(request)
        return None

    def _deliver_late(self, loss: Loss, request: bytes, client: socket.socket, broker: socket.socket) -> None:
        release, delivered = self._release, self._delivered
        if loss is Loss.CONNECTION:
            _close(client)
        release.wait(_PATIENCE_SECONDS)
        broker.sendall(request)
        delivered.wait(_PATIENCE_SECONDS)

    def _answers(self, client: socket.socket, broker: socket.socket) -> None:
        while data := broker.recv(65536):
            if broker is self._held and self._release.is_set():
                self.deliveries += 1
                self._held = None
                self._delivered.set()
                return
            client.sendall(data)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        _close(self._server)
        with self._lock:
            doomed, self._open = self._open, set()
        for each in doomed:
            _close(each)


@contextlib.contextmanager
def proxied_broker(make_broker: Callable[[], KafkaBroker]) -> Iterator[HoldingProxy]:
    """Start a broker that sends whoever comes through the proxy back through it."""
    broker = make_broker()
    (proxied_port,) = free_ports(1)
    with HoldingProxy(proxied_port) as proxy:
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
            yield proxy


def _read(source: socket.socket, size: int) -> bytes:
    """Read exactly so much; nothing if the connection ends before."""
    data = b""
    while len(data) < size:
        more = source.recv(size - len(data))
        if not more:
            return b""
        data += more
    return data


def _close(each: socket.socket) -> None:
    with contextlib.suppress(OSError):
        each.shutdown(socket.SHUT_RDWR)
    each.close()
