"""Middleware before every endpoint: rejects requests, reads bodies, adds security headers.

It rejects an unknown host name, a missing token, and a body that is too large or too slow. The
headers keep a browser from doing anything with a response except showing it.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import hmac
import ipaddress
from http import HTTPStatus
from typing import Final

from fastapi import Response
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from service.settings.declaration import split_address
from service.settings.load import Settings
from service.web.responses import problem_response

PROBES: Final = frozenset({"/livez", "/readyz"})
MONITORING: Final = PROBES | {"/metrics"}
INPUTS: Final = ("/events", "/labels")
"""Paths whose POST bodies are written to the stream."""
STATIC: Final = "/static/"
BODY_SECONDS: Final = 10.0
"""How long a body may take to arrive."""
_DISCARDED_BYTES: Final = 16 << 20
"""Bytes of a too large body that are still read."""

_CONTENT_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
_HEADERS: Final = (
    (b"content-security-policy", _CONTENT_POLICY.encode()),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
)
_CACHE_CONTROL: Final = b"cache-control"
_CHALLENGES: Final = ('Basic realm="online-perceptron", charset="UTF-8"', 'Bearer realm="online-perceptron"')
"""In separate headers: only then does a browser find Basic and ask for a password."""
LOOPBACK_NAMES: Final = frozenset({"localhost", "127.0.0.1", "[::1]"})


class Guard:
    """ASGI middleware that rejects requests that the settings do not allow; probes are always answered.

    Parameters
    ----------
    app
        The application that answers allowed requests.
    settings
        The settings, with the allowed host names, the token and the largest body.

    """

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app = app
        self._max_body_bytes = settings.max_message_bytes
        self._token = settings.http_token.get_secret_value()
        self._takes_inputs = settings.takes_inputs
        names, is_on_loopback = settings.http_hosts, settings.is_on_loopback
        # Without `http_hosts`, a token is enough on a public address: a web page does not know the token.
        if not names and (is_on_loopback or not self._token):
            names = (*LOOPBACK_NAMES, split_address(settings.http)[0])
        self._hosts = frozenset(names)
        """Names of this server; empty allows any name. This prevents DNS rebinding: a web page whose name was
        pointed to this server's address sends its own name."""
        self._answers_addresses = not (is_on_loopback or settings.http_hosts)
        """Whether an IP address is allowed as host: DNS rebinding needs a name."""
        self._unnamed = PROBES if is_on_loopback else MONITORING
        """Paths that are answered under any name: monitoring uses the address of a container or a pod."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Reject a request, or pass it to the application."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        if scope["method"] == "HEAD":  # uvicorn omits the body
            scope = {**scope, "method": "GET"}
        send = _with_headers(send, scope["path"])
        outcome = self._reject(scope) or await self._read(scope, receive)
        if isinstance(outcome, Response):
            await outcome(scope, receive, send)
        else:
            await self._app(scope, _replay(outcome, receive), send)

    def _reject(self, scope: Scope) -> Response | None:
        if scope["path"] in PROBES:
            return None
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if self._hosts and scope["path"] not in self._unnamed and not self._answers(_without_port(host)):
            return problem_response(
                HTTPStatus.MISDIRECTED_REQUEST,
                f"unknown host name {host!r}",
                "header Host",
                f"ask {' or '.join(sorted(self._hosts))}, or add the name to http_hosts",
            )
        if self._token and not _has_token(headers.get("authorization", ""), self._token):
            return _unauthorized()
        if not self._takes_inputs and scope["path"] in INPUTS:
            return problem_response(
                HTTPStatus.FORBIDDEN,
                "POST is disabled on this address, as web pages could send it",
                scope["path"],
                "set http_hosts to the server's names, or set http_token",
            )
        return None

    def _answers(self, name: str) -> bool:
        return name in self._hosts or (self._answers_addresses and _is_address(name))

    async def _read(self, scope: Scope, receive: Receive) -> bytes | Response:
        """Read the whole body, unless it is too large or too slow.

        A body that is too large is read for a while and discarded: a client that sends its whole body before
        it reads the response would otherwise only see a closed connection.
        """
        limit, seconds = self._max_body_bytes, BODY_SECONDS
        most = limit + _DISCARDED_BYTES
        headers = Headers(scope=scope)
        declared = headers.get("content-length", "0")
        if not declared.isdecimal() or int(declared) > (limit if "expect" in headers else most):
            return _too_large(limit)
        chunks, size, is_complete = [], 0, False
        try:
            async with asyncio.timeout(seconds):
                while not is_complete and size <= most:
                    message = await receive()
                    chunk = message.get("body", b"")
                    size += len(chunk)
                    if size <= limit:
                        chunks.append(chunk)
                    is_complete = not message.get("more_body")
            return b"".join(chunks) if size <= limit else _too_large(limit)
        except TimeoutError:
            return problem_response(
                HTTPStatus.REQUEST_TIMEOUT,
                f"the body did not arrive within {seconds:g} s",
                "body",
                Connection="close",
            )


def _unauthorized() -> Response:
    response = problem_response(
        HTTPStatus.UNAUTHORIZED,
        "expected the token of http_token",
        "header Authorization",
        "send `Authorization: Bearer TOKEN`; in a browser the token is the password of any user",
    )
    for challenge in _CHALLENGES:
        response.headers.append("WWW-Authenticate", challenge)
    return response


def _too_large(limit: int) -> Response:
    return problem_response(
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
        f"the body is larger than {limit} bytes",
        "body",
        "send less, or raise max_message_bytes",
        Connection="close",
    )


def _replay(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that delivers the body, then the messages after it, such as a disconnect."""
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return waiting.pop() if waiting else await receive()

    return replay


def _with_headers(send: Send, path: str) -> Send:
    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = [*message["headers"], *_HEADERS]
            if not any(name == _CACHE_CONTROL for name, _ in headers):
                headers.append((_CACHE_CONTROL, b"no-cache" if path.startswith(STATIC) else b"no-store"))
            message["headers"] = headers
        await send(message)

    return send_with_headers


def _without_port(host: str) -> str:
    name, colon, port = host.rpartition(":")
    return (name if colon and port.isdecimal() else host).lower()


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name.removeprefix("[").removesuffix("]"))
    except ValueError:
        return False
    return True


def _has_token(authorization: str, token: str) -> bool:
    """Compare in constant time; a browser can only send Basic, where the token is the password."""
    scheme, _, credentials = authorization.partition(" ")
    given = credentials.strip().encode("latin-1")
    if scheme.lower() == "basic":
        try:
            given = base64.b64decode(given, validate=True).partition(b":")[2]
        except binascii.Error:
            return False
    elif scheme.lower() != "bearer":
        return False
    return hmac.compare_digest(given, token.encode())
