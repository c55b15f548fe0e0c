"""Read requests: their parameters, and their bodies: a record, a mail, or a line for each of several.

`PostEndpoints` calls the endpoints that read a body, since FastAPI's routing and dependencies take several
times as long as a response. FastAPI describes these endpoints, and calls all other endpoints.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final, TypeVar, get_type_hints
from urllib.parse import parse_qsl

from fastapi import APIRouter, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import BaseModel, ConfigDict, ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Receive, Scope, Send

from service.errors import MessageTooLarge, ServiceError
from service.mapping.texts import text_of_mail
from service.messages.rejection import Reason, Rejection
from service.web.responses import UnsupportedBody, problem_of

JSON: Final = "application/json"
NDJSON: Final = "application/x-ndjson"
MAIL: Final = "message/rfc822"
MAX_LINES: Final = 10_000
"""Most lines of a body: the default of `http_max_lag`, the largest lag."""
READ_AT_ONCE_BYTES: Final = 16_384
"""Longer messages are read on another thread: the server's thread answers other requests meanwhile."""
_NOT_ENCODED: Final = "identity"
_MAX_SHOWN: Final = 40
_ID: Final = "-"
"""Id of a posted mail, which is only predicted."""


class Parameters(BaseModel):
    """The parameters of an endpoint. Unknown parameters are rejected: a mistyped one would have no effect."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


_Parameters = TypeVar("_Parameters", bound=Parameters)


def _parameters_of(request: Request, kind: type[_Parameters]) -> _Parameters:
    """Read the parameters of a request. Raises `RequestValidationError`, as FastAPI does."""
    try:
        # Bytes that are not UTF-8 become surrogates, which Pydantic rejects.
        query = request.scope["query_string"].decode(errors="surrogateescape")
        return kind.model_validate(dict(parse_qsl(query, keep_blank_values=True, errors="surrogateescape")))
    except ValidationError as error:
        raise RequestValidationError(
            [{**each, "loc": ("query", *each["loc"])} for each in error.errors()]
        ) from None


class PostEndpoints:
    """ASGI middleware after the guard: calls the endpoints of `POST` requests.

    Parameters
    ----------
    app
        The application that answers all other requests.
    routers
        Routers with the endpoints. An endpoint takes the request and, as `query`, its parameters.

    """

    def __init__(self, app: ASGIApp, routers: Sequence[APIRouter]) -> None:
        self._app = app
        routes = [each for router in routers for each in router.routes if isinstance(each, APIRoute)]
        self._endpoints: dict[str, tuple[Callable[..., Awaitable[Response]], type[Parameters]]] = {
            route.path: (route.endpoint, get_type_hints(route.endpoint)["query"])
            for route in routes
            if route.methods == {"POST"}
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Call the endpoint of a request, or pass it to the application."""
        route = self._endpoints.get(scope["path"]) if scope.get("method") == "POST" else None
        if route is None:
            await self._app(scope, receive, send)
            return
        endpoint, kind = route
        request = Request(scope, receive)
        try:
            response = await endpoint(request, _parameters_of(request, kind))
        except (Rejection, ServiceError, RequestValidationError, HTTPException) as error:
            response = problem_of(request, error)
        await response(scope, receive, send)


async def body_of(request: Request, wanted: str = JSON) -> bytes:
    """Return the body if it has the wanted media type.

    The code that reads records of the stream reads the body, too.
    """
    headers = request.headers
    if headers.get("content-type") != wanted or "content-encoding" in headers:
        _check_form(request, wanted)
    body: bytes = (await request.receive())["body"]  # the guard has read all of it
    return body


def _check_form(request: Request, wanted: str) -> None:
    encoding = ", ".join(request.headers.getlist("content-encoding")) or _NOT_ENCODED
    if encoding.strip().lower() != _NOT_ENCODED:
        raise UnsupportedBody(
            f"expected a body without Content-Encoding, got {encoding[:_MAX_SHOWN]}",
            hint="send it without `Content-Encoding`",
        )
    media_type = media_type_of(request)
    if media_type != wanted:
        like = "as `curl --json` does" if wanted == JSON else "with `curl --data-binary`"
        raise UnsupportedBody(
            f"expected the content type {wanted}, got {media_type or 'none'}",
            hint=f"send `Content-Type: {wanted}`, {like}",
        )


async def lines_of(request: Request) -> Sequence[bytes]:
    """Return the lines of an NDJSON body, including empty ones; the last line needs no line end.

    Raises `MessageTooLarge` if there are too many.
    """
    body = await body_of(request, NDJSON)
    lines = body.replace(b"\r\n", b"\n").split(b"\n", MAX_LINES)
    if not lines[-1]:
        lines.pop()
    if len(lines) > MAX_LINES:
        raise MessageTooLarge(
            f"expected at most {MAX_LINES} lines in the body",
            hint="send it in parts, as made by `split --lines`",
        )
    return lines


async def mail_event(request: Request) -> bytes:
    """Return the event of the subject and text of a mail, in the native schema."""
    body = await body_of(request, MAIL)

    def read() -> bytes:
        return json.dumps({"id": _ID, "text": text_of_mail(body)}).encode()

    try:
        return await run_in_threadpool(read)
    except ValueError as error:
        raise Rejection(Reason.TOO_DEEP, f"unreadable mail: {error}") from None


def media_type_of(request: Request) -> str:
    """Return the media type of a request's body in small letters; empty if there is none."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def described_body(schemas: Mapping[str, Any]) -> dict[str, Any]:
    """Describe the body of an endpoint by the schema of each media type, for the OpenAPI document."""
    content = {media_type: {"schema": schema} for media_type, schema in schemas.items()}
    return {"requestBody": {"required": True, "content": content}}


def described_lines(what: str) -> dict[str, Any]:
    """Describe an NDJSON body, for the OpenAPI document."""
    return {NDJSON: {"type": "string", "description": f"{what}, at most {MAX_LINES}."}}
