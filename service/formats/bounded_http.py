"""HTTP within a bounded time.

A socket's timeout only bounds each wait for bytes, so a slow response might never end. Here the timeout
bounds the whole response, from the start of the connection. A redirect is an error, as it could lead to any
reachable host.
"""

from __future__ import annotations

import io
import ssl
from http.client import HTTPConnection, HTTPResponse, HTTPSConnection
from socket import socket
from time import monotonic
from typing import Any
from urllib.request import (
    HTTPHandler,
    HTTPRedirectHandler,
    HTTPSHandler,
    OpenerDirector,
    Request,
    build_opener,
)

from typing_extensions import Buffer


def bounded_opener(context: ssl.SSLContext) -> OpenerDirector:
    """Return a `urllib` opener of URLs whose timeout bounds each whole response."""
    return build_opener(_Handler(), _TlsHandler(context), _RedirectRejecter())


class _ResponseBody(io.RawIOBase):
    """The bytes that a socket receives until a deadline."""

    def __init__(self, received: socket, deadline: float) -> None:
        self._socket = received
        self._file = received.makefile("rb", buffering=0)
        self._deadline = deadline

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Buffer) -> int | None:
        seconds = self._deadline - monotonic()
        if seconds <= 0:
            raise TimeoutError("timed out")
        self._socket.settimeout(seconds)
        return self._file.readinto(buffer)

    def close(self) -> None:
        self._file.close()
        super().close()


class _Bounded(HTTPConnection):
    """A connection for one request."""

    def connect(self) -> None:
        self._deadline = monotonic() + (self.timeout or 0.0)
        super().connect()

    def response_class(self, sock: socket, *given: Any, **named: Any) -> HTTPResponse:  # type: ignore[override] # noqa: ANN401
        response = HTTPResponse(sock, *given, **named)
        response.fp.close()
        response.fp = io.BufferedReader(_ResponseBody(sock, self._deadline))
        return response


class _BoundedTls(_Bounded, HTTPSConnection):
    """A `_Bounded` connection with TLS: `_Bounded.connect` calls `HTTPSConnection.connect`."""


class _RedirectRejecter(HTTPRedirectHandler):
    def redirect_request(self, *_: object) -> None:
        """Follow no redirect."""


class _Handler(HTTPHandler):
    def http_open(self, request: Request) -> HTTPResponse:
        return self.do_open(_Bounded, request)


class _TlsHandler(HTTPSHandler):
    def __init__(self, context: ssl.SSLContext) -> None:
        super().__init__(context=context)
        self._tls = context

    def https_open(self, request: Request) -> HTTPResponse:
        return self.do_open(_BoundedTls, request, context=self._tls)
