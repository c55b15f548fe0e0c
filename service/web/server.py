"""The HTTP server beside the loop. In: an application and an address. Out: a thread that serves it."""

from __future__ import annotations

import asyncio
import socket
import threading
from types import TracebackType
from typing import Final, Self

import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.h11_impl import H11Protocol

from service.errors import ServerError
from service.settings.addresses import split_address, url_at
from service.web.guard import MONITORING

_STOP_SECONDS: Final = 5.0
"""How long open requests may take when the service ends."""

_REQUEST_SECONDS: Final = 10.0
"""How long a connection may take to say what it wants: the head of a request. Bodies: `service.web.guard`."""

_MOST_CONNECTIONS: Final = 200
"""Open at a time; requests on more are told to come back later, all but probes."""

_PROBE_CONNECTIONS: Final = 50
"""Open beyond those; then the oldest connection is closed for each new one."""

_ANSWER_SECONDS: Final = 30.0
"""How long a client may take to read an answer."""

_LOOK_SECONDS: Final = 5.0
"""Between two looks at what a client has left unread."""


class HttpServer:
    """Serves an application from a thread of its own, for as long as the context lasts.

    Parameters
    ----------
    app
        What to serve.
    address
        `host:port`; port 0 takes a free one, which `url` then tells.

    Raises
    ------
    ServerError
        If the address cannot be listened on.

    """

    def __init__(self, app: FastAPI, address: str) -> None:
        host, port = split_address(address)
        self._socket = _listen(host, port, address)
        self.url = url_at(host, self._socket.getsockname()[1])
        config = uvicorn.Config(
            app,
            http=_ImpatientProtocol,
            ws="none",
            log_config=None,  # `service.logs` formats its lines
            log_level="warning",
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=int(_STOP_SECONDS),
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(
            target=self._server.run, kwargs={"sockets": [self._socket]}, name="http", daemon=True
        )

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.should_exit = True
        self._thread.join(_STOP_SECONDS + 1)
        self._socket.close()


class _ImpatientProtocol(H11Protocol):
    """Closes connections of clients that send no request or do not read an answer; uvicorn does not."""

    _deadline: asyncio.TimerHandle | None = None
    _next_look: asyncio.TimerHandle | None = None
    _unread_seconds = 0.0
    opened_at = 0.0
    """On the clock of the event loop."""

    @property
    def waits_for_request(self) -> bool:
        """Whether no request has been read yet that is not answered."""
        return self._deadline is not None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.opened_at = self.loop.time()
        self._wait_for_request()
        self._look_later()
        if len(self.connections) > _MOST_CONNECTIONS + _PROBE_CONNECTIONS:
            self._close_oldest()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop_waiting()
        elif self._deadline is None:
            self._wait_for_request()

    @property
    def limit_concurrency(self) -> int | None:
        """Most connections on which requests for this path are answered; None for monitoring.

        uvicorn asks when it knows the path.
        """
        return None if self.scope and self.scope["path"] in MONITORING else _MOST_CONNECTIONS

    @limit_concurrency.setter
    def limit_concurrency(self, _: int | None) -> None: ...

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        if self._next_look is not None:
            self._next_look.cancel()
        super().connection_lost(exc)

    def _wait_for_request(self) -> None:
        self._deadline = self.loop.call_later(_REQUEST_SECONDS, self.transport.close)

    def _look_later(self) -> None:
        self._next_look = self.loop.call_later(_LOOK_SECONDS, self._look)

    def _look(self) -> None:
        """Close the connection if a part of an answer has been waiting to be read at every look for long."""
        waits = self.transport.get_write_buffer_size() > 0
        self._unread_seconds = self._unread_seconds + _LOOK_SECONDS if waits else 0.0
        if self._unread_seconds > _ANSWER_SECONDS:
            self.transport.abort()
        else:
            self._look_later()

    def _close_oldest(self) -> None:
        """Close that of the others that has waited longest for a request; failing that, the oldest one."""
        others = [
            other for other in self.connections if isinstance(other, _ImpatientProtocol) and other is not self
        ]
        oldest = min(others, key=lambda other: (not other.waits_for_request, other.opened_at))
        oldest.transport.abort()

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


def _listen(host: str, port: int, address: str) -> socket.socket:
    """Bind before the thread starts, so that a port that is taken is an error and not a log line."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Named as TCP, or asyncio leaves Nagle's algorithm on: 40 ms for each answer on a connection that stays.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen()
    except OSError as error:
        listener.close()
        raise ServerError(
            f"http: cannot listen on {address}: {error.strerror or error}",
            hint="choose another address with --http HOST:PORT, or none with --http ''",
        ) from error
    return listener
