"""Answer common requests without FastAPI, as its endpoints would, to the byte.

A request is common if its media type and its parameters are written as nearly all clients write them. FastAPI
judges every other one: it alone refuses a request for its form.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final
from urllib.parse import parse_qsl

from fastapi import FastAPI, Request, Response
from pydantic import TypeAdapter
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from service.errors import ServiceError
from service.messages.rejection import Rejection

Answer = Callable[..., Awaitable[Response]]
"""Takes the body, the headers, and the parameters by their names."""

_MOST_QUERY_BYTES: Final = 1000
_OF_FORM: Final = frozenset({b"content-type", b"content-encoding"})


class DirectRoute:
    """The common form of a `POST` endpoint.

    Parameters
    ----------
    media_type
        Of the body.
    parameters
        A typed dictionary of the endpoint's parameters, none required.
    answer
        What the endpoint calls as well.

    """

    def __init__(self, media_type: str, parameters: type, answer: Answer) -> None:
        self._media_types = {media_type.encode(), f"{media_type}; charset=utf-8".encode()}
        self._read: TypeAdapter[dict[str, Any]] = TypeAdapter(parameters)
        self._known = parameters.__annotations__.keys()
        self.answer = answer

    def parameters(self, scope: Scope) -> Mapping[str, Any] | None:
        """Return the parameters of a common request; None of one that FastAPI has to judge."""
        given = [value for name, value in scope["headers"] if name in _OF_FORM]
        if len(given) != 1 or given[0] not in self._media_types:
            return None
        query = scope["query_string"]
        if not query:
            return {}
        if len(query) > _MOST_QUERY_BYTES:
            return None
        try:
            pairs = parse_qsl(
                query.decode("ascii"), keep_blank_values=True, strict_parsing=True, errors="strict"
            )
            named = dict(pairs)
            is_common = len(named) == len(pairs) and all(named.values()) and named.keys() <= self._known
            return self._read.validate_python(named) if is_common else None
        except ValueError:  # of what Pydantic refuses, too
            return None


class Direct:
    """ASGI middleware behind the guard, which has read the body: answers common requests itself.

    Parameters
    ----------
    app
        Answers all others.
    routes
        By path.
    owner
        Has the handlers of errors.

    """

    def __init__(self, app: ASGIApp, routes: Mapping[str, DirectRoute], owner: FastAPI) -> None:
        self._app = app
        self._routes = routes
        self._owner = owner

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or have it answered."""
        route = self._routes.get(scope["path"]) if scope.get("method") == "POST" else None
        parameters = None if route is None else route.parameters(scope)
        if route is None or parameters is None:
            await self._app(scope, receive, send)
            return
        body = (await receive())["body"]
        try:
            response = await route.answer(body, Headers(scope=scope), **parameters)
        except (Rejection, ServiceError) as error:
            kind = Rejection if isinstance(error, Rejection) else ServiceError
            told = self._owner.exception_handlers[kind](Request(scope), error)
            response = told if isinstance(told, Response) else await told
        await response(scope, receive, send)
