"""A TCP proxy before a Kafka broker that holds the end of a transaction and delivers it during the next one.

It passes the requests of clients on to the broker, one of them far too late.
"""

from __future__ import annotations

import socket
import struct
import threading
from enum import Enum
from typing import Final

from tests.support.cutting_proxy import END_TXN, CuttingProxy, _close, _read

_HEADER: Final = struct.Struct(">ih")
_PATIENCE_SECONDS: Final = 30.0


class Loss(Enum):
    """What the client notices of the request that is held."""

    CONNECTION = "the connection breaks"
    ANSWER = "no answer comes"


class HoldingProxy(CuttingProxy):
    """Holds an EndTxn, lets its repetition pass, and delivers it before a request of the next transaction.

    Parameters
    ----------
    target_port
        The broker's port on 127.0.0.1.

    """

    def __init__(self, target_port: int) -> None:
        self._armed: Loss | None = None
        self._release_before: int | None = None
        self._held: socket.socket | None = None
        self._release, self._delivered = threading.Event(), threading.Event()
        self.deliveries = 0
        super().__init__(target_port)

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
