"""Answer common requests without FastAPI: in: a request, out: what FastAPI's route would answer, to the byte.

A request is common if its media type and its parameters are written as nearly all clients write them. FastAPI
judges every other one: only it refuses a request for its form.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final
from urllib.parse import parse_qsl

from fastapi import Response
from pydantic import TypeAdapter, ValidationError
from starlette.datastructures import Headers
from starlette.routing import BaseRoute, Match
from starlette.types import Receive, Scope, Send

Answer = Callable[..., Awaitable[Response]]
"""Takes the body, the headers, and the parameters by their names."""

_PARAMETERS: Final = "parameters"
_MOST_QUERY_BYTES: Final = 1000


class DirectRoute(BaseRoute):
    """Route of the common form of one `POST` endpoint; stands before that endpoint's own.

    Parameters
    ----------
    path
        Of the endpoint.
    media_type
        Of the body.
    parameters
        A typed dictionary of the endpoint's parameters, none required.
    answer
        What the endpoint calls as well.

    """

    def __init__(self, path: str, media_type: str, parameters: type, answer: Answer) -> None:
        self._path = path
        self._media_types = {media_type.encode(), f"{media_type}; charset=utf-8".encode()}
        self._read: TypeAdapter[dict[str, Any]] = TypeAdapter(parameters)
        self._answer = answer

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Return whether it is a common request, and the parameters."""
        if scope["type"] != "http" or scope["path"] != self._path or scope["method"] != "POST":
            return Match.NONE, {}
        given = [value for name, value in scope["headers"] if name in {b"content-type", b"content-encoding"}]
        if len(given) != 1 or given[0] not in self._media_types:
            return Match.NONE, {}
        parameters = self._parameters(scope["query_string"])
        return (Match.NONE, {}) if parameters is None else (Match.FULL, {_PARAMETERS: parameters})

    def _parameters(self, query: bytes) -> Mapping[str, Any] | None:
        """Return the parameters; None if there is anything in them that FastAPI has to judge."""
        if not query:
            return {}
        if len(query) > _MOST_QUERY_BYTES:
            return None
        try:
            pairs = parse_qsl(query.decode("ascii"), strict_parsing=True, errors="strict")
            given = dict(pairs)
            return self._read.validate_python(given) if len(given) == len(pairs) else None
        except (ValueError, ValidationError):
            return None

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer it. What is raised is translated where FastAPI's errors are."""
        body = (await receive())["body"]  # all of it: the guard has read it
        response = await self._answer(body, Headers(scope=scope), **scope[_PARAMETERS])
        await response(scope, receive, send)
