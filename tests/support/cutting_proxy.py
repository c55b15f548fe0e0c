"""A TCP proxy before a Kafka broker that cuts every connection when a chosen request comes by.

It passes the bytes of clients on to the broker until the cut: then the request is lost on its way, or the
answer is.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from typing import Final, Self

PRODUCE: Final = 0
ADD_PARTITIONS_TO_TXN: Final = 24
END_TXN: Final = 26
TXN_OFFSET_COMMIT: Final = 28
_HEADER: Final = struct.Struct(">ih")  # size of the request, and which one it is


class CuttingProxy:
    """Listens on a free port of 127.0.0.1.

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
        self._cut_at: int | None = None
        self._answer_only = False
        self.is_open = True
        self.cuts = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def cut_at(self, request: int, *, answer_only: bool) -> None:
        """Cut at the next request of this kind: before the broker gets it, or before it has answered."""
        with self._lock:
            self._answer_only = answer_only
            self._cut_at = request

    def close_for_all(self) -> None:
        """Cut every connection and take no new ones."""
        self.is_open = False
        self._cut()

    def open_again(self) -> None:
        self.is_open = True

    def _cut(self) -> None:
        with self._lock:
            doomed, self._open = self._open, set()
            self._cut_at = None
            self.cuts += 1
        for each in doomed:
            _close(each)

    def _accept(self) -> None:
        with contextlib.suppress(OSError):  # closed
            while True:
                client, _ = self._server.accept()
                if not self.is_open:
                    _close(client)
                    continue
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
        while head := _read(client, _HEADER.size):
            size, kind = _HEADER.unpack(head)
            request = head + _read(client, size - 2)
            with self._lock:
                now, answer_only = kind == self._cut_at, self._answer_only
            if now and not answer_only:
                return self._cut()
            if now:
                # The broker must have it whole before its connection goes; its answer has nowhere to go.
                _close(client)
                broker.sendall(request)
                broker.recv(1)
                return self._cut()
            broker.sendall(request)
        return None

    def _answers(self, client: socket.socket, broker: socket.socket) -> None:
        while data := broker.recv(65536):
            client.sendall(data)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        _close(self._server)
        self._cut()


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
