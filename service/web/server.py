"""Serve an application by HTTP on a thread next to the loop."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any, Final

import uvicorn
from fastapi import FastAPI
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from service.errors import ServerError
from service.settings.declaration import split_address, url_at
from service.web.guard import MONITORING
from service.web.responses import problem_response

_STOP_SECONDS: Final = 5.0
"""Time for open requests when the service stops."""

_REQUEST_SECONDS: Final = 10.0
"""How long a connection may take to send the head of a request. Bodies: `service.web.guard`."""

_MAX_HEAD_BYTES: Final = 65_536
"""Largest head of a request; httptools has no limit."""

_MAX_CONNECTIONS: Final = 200
"""Open connections above which requests get 503, except probes."""

_PROBE_CONNECTIONS: Final = 50
"""Further open connections, above which the oldest connection is closed for each new one."""

_RESPONSE_SECONDS: Final = 30.0
"""How long a client may take to read a response."""

_CHECK_SECONDS: Final = 5.0
"""Interval of the checks whether a client reads its response."""

_BUSY: Final = problem_response(
    HTTPStatus.SERVICE_UNAVAILABLE,
    f"more than {_MAX_CONNECTIONS} connections are open",
    "connection",
    "close unused connections, and send it again",
    Connection="close",
    Retry_After="1",
)

_MALFORMED: Final = problem_response(
    HTTPStatus.BAD_REQUEST,
    "not an HTTP request",
    "connection",
    "send a head of at most 64 KiB with one Host and an ASCII address",
    Connection="close",
)


@contextmanager
def http_server(app: FastAPI, address: str) -> Iterator[str]:
    """Serve an application on its own thread for as long as the context lasts; yield the URL.

    Parameters
    ----------
    app
        What to serve.
    address
        `host:port`; port 0 chooses a free one, which the URL then names.

    Raises
    ------
    ServerError
        If the address cannot be listened on.

    """
    host, port = split_address(address)
    with _listen(host, port, address) as listener:
        config = uvicorn.Config(
            app,
            http=_Protocol,
            ws="none",
            log_config=None,  # `service.logs` formats its lines
            log_level="warning",
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=int(_STOP_SECONDS),
        )
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, name="http", daemon=True)
        thread.start()
        try:
            yield url_at(host, listener.getsockname()[1])
        finally:
            server.should_exit = True
            thread.join(_STOP_SECONDS + 1)


class _Protocol(HttpToolsProtocol):
    """uvicorn's protocol with bounds on heads, chunk sizes, trailers and addresses, and with our responses.

    It closes connections of clients that send no request or do not read a response. If too many connections
    are open, it only answers monitoring.
    """

    _unread_bytes = 0
    """Bytes received since the end of a head, or since the last piece of a body."""
    _is_in_head = False
    _deadline: asyncio.TimerHandle | None = None
    _next_check: asyncio.TimerHandle | None = None
    _answered_now = 0
    _unread_seconds = 0.0

    def __init__(self, *given: Any, **named: Any) -> None:  # noqa: ANN401 - uvicorn's
        super().__init__(*given, **named)
        self._app, self.app = self.app, self._answer
        self.opened_at = self.loop.time()
        """Time on the clock of the event loop."""

    @property
    def waits_for_request(self) -> bool:
        """Whether no request is being answered."""
        return self._deadline is not None

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request; meanwhile, the connection does not wait for one."""
        self._stop_waiting()
        self._answered_now += 1
        try:
            too_many = len(self.connections) >= _MAX_CONNECTIONS and scope["path"] not in MONITORING
            await (_BUSY if too_many else self._app)(scope, receive, send)
        finally:
            self._answered_now -= 1

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn's
        super().connection_made(transport)
        self._wait_for_request()
        self._check_later()
        if len(self.connections) > _MAX_CONNECTIONS + _PROBE_CONNECTIONS:
            self._close_oldest()

    def data_received(self, data: bytes) -> None:
        self._unread_bytes += len(data)
        super().data_received(data)
        if self._unread_bytes > _MAX_HEAD_BYTES and not self.transport.is_closing():
            self.send_400_response("Invalid HTTP request received.")
        if not self._answered_now and self._deadline is None:
            self._wait_for_request()

    def on_url(self, url: bytes) -> None:
        if not url.isascii():
            raise ValueError("invalid bytes in the address")
        super().on_url(url)

    def on_message_begin(self) -> None:
        self._is_in_head = True
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self._is_in_head:  # a trailer after a chunked body, which nothing reads
            return
        if name.lower() == b"host" and any(known == b"host" for known, _ in self.headers):
            raise ValueError("two Host headers")
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._unread_bytes, self._is_in_head = 0, False
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._unread_bytes = 0
        super().on_body(body)

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 - the log has it
        head = b"".join(b"%b: %b\r\n" % header for header in _MALFORMED.raw_headers)
        self.transport.write(b"HTTP/1.1 400 Bad Request\r\n" + head + b"\r\n" + bytes(_MALFORMED.body))
        self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        if self._next_check is not None:
            self._next_check.cancel()
        super().connection_lost(exc)

    def _wait_for_request(self) -> None:
        self._deadline = self.loop.call_later(_REQUEST_SECONDS, self.transport.close)

    def _check_later(self) -> None:
        self._next_check = self.loop.call_later(_CHECK_SECONDS, self._check_unread)

    def _check_unread(self) -> None:
        """Close the connection if a part of a response has stayed unread at every check for too long."""
        waits = self.transport.get_write_buffer_size() > 0
        self._unread_seconds = self._unread_seconds + _CHECK_SECONDS if waits else 0.0
        if self._unread_seconds > _RESPONSE_SECONDS:
            self.transport.abort()
        else:
            self._check_later()

    def _close_oldest(self) -> None:
        """Close the connection that has waited longest for a request; if none waits, the oldest one."""
        others = [each for each in self.connections if isinstance(each, _Protocol) and each is not self]
        oldest = min(others, key=lambda other: (not other.waits_for_request, other.opened_at))
        oldest.transport.abort()

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


def _listen(host: str, port: int, address: str) -> socket.socket:
    """Bind before the thread starts, so that a port that is taken is an error and not a log line."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Without the name TCP, asyncio keeps Nagle's algorithm: 40 ms for each response on an open connection.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen()
    except OSError as error:
        listener.close()
        raise ServerError(
            f"http: cannot listen on {address}: {error.strerror or error}",
            hint="choose another address with --http HOST:PORT, or disable HTTP with --http ''",
        ) from error
    return listener
