"""HTTP within a bounded time.

A timeout of a socket bounds each wait for some bytes: an answer that trickles would never end. Here it bounds
the answer as a whole, from the beginning of the connection on, and with it those that redirected to it. Only
the address that was asked may answer: a redirect elsewhere, which could be any host within reach, is refused.
"""

from __future__ import annotations

import io
import ssl
from http.client import HTTPConnection, HTTPMessage, HTTPResponse, HTTPSConnection
from socket import socket
from time import monotonic
from typing import IO, Any
from urllib.error import URLError
from urllib.parse import urlsplit
from urllib.request import (
    HTTPHandler,
    HTTPRedirectHandler,
    HTTPSHandler,
    OpenerDirector,
    Request,
    build_opener,
)

from typing_extensions import Buffer


def bounded_opener(context: ssl.SSLContext, *, redirects: bool = True) -> OpenerDirector:
    """Return an opener of URLs, as `urllib` has, whose timeout bounds each answer as a whole.

    Without `redirects`, one is an error: of a POST, `urllib` would make a GET.
    """
    return build_opener(
        _Handler(), _TlsHandler(context), _RedirectHandler() if redirects else _RedirectRefuser()
    )


class _Answer(io.RawIOBase):
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
        answer = HTTPResponse(sock, *given, **named)
        answer.fp.close()
        answer.fp = io.BufferedReader(_Answer(sock, self._deadline))
        return answer


class _BoundedTls(_Bounded, HTTPSConnection):
    """The same, encrypted: `_Bounded.connect` calls that of `HTTPSConnection`."""


class _RedirectHandler(HTTPRedirectHandler):
    """Follows redirects to the same host, port and scheme, within what is left of the time."""

    def redirect_request(
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> Request | None:
        if _origin(newurl) != _origin(req.full_url):
            raise URLError("it redirects to another address")
        new = super().redirect_request(req, fp, code, msg, headers, newurl)
        fp.close()  # the base class would read it, however long it is
        if new is not None:
            new.deadline = _deadline(req)  # type: ignore[attr-defined] # of all that follow
            req.timeout = _deadline(req) - monotonic()  # which the base class gives to the new one
            if req.timeout <= 0:
                raise TimeoutError("timed out")
        return new


class _RedirectRefuser(HTTPRedirectHandler):
    def redirect_request(self, *_: object) -> None:
        """Follow none."""


def _origin(url: str) -> tuple[str, str | None, int | None]:
    place = urlsplit(url)
    return place.scheme, place.hostname, place.port or {"http": 80, "https": 443}.get(place.scheme)


def _deadline(request: Request) -> float:
    """Return the deadline of all answers to a request; the time begins at the first call."""
    if not hasattr(request, "deadline"):
        request.deadline = monotonic() + (request.timeout or 0.0)  # type: ignore[attr-defined]
    return float(request.deadline)  # type: ignore[attr-defined]


class _Handler(HTTPHandler):
    def http_open(self, request: Request) -> HTTPResponse:
        _deadline(request)
        return self.do_open(_Bounded, request)


class _TlsHandler(HTTPSHandler):
    def __init__(self, context: ssl.SSLContext) -> None:
        super().__init__(context=context)
        self._tls = context

    def https_open(self, request: Request) -> HTTPResponse:
        _deadline(request)
        return self.do_open(_BoundedTls, request, context=self._tls)
