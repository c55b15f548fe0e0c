"""What is wrong with a line, told as of a request of its own; and what became of all lines."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from fastapi import Request, Response
from pydantic_core import to_json

from service.errors import ServiceError
from service.messages.rejection import Rejection
from service.web.lines.bodies import JSON
from service.web.problems import PASSING, SOON_SECONDS


class LineProblems:
    """Tells what is wrong with the lines of one body.

    Parameters
    ----------
    request
        The body's.

    """

    def __init__(self, request: Request) -> None:
        self._request = request
        self._told: dict[int, tuple[BaseException, dict[str, Any]]] = {}
        """By identity: what the stream refuses it refuses for many lines."""

    def tell(self, number: int, error: BaseException) -> dict[str, Any]:
        """Return the problem of a line: its number, the status it would have, and that answer's fields."""
        _, fields = self._told.get(id(error)) or self._told.setdefault(
            id(error), (error, self._fields(error))
        )
        return {"line": number, **fields}

    def _fields(self, error: BaseException) -> dict[str, Any]:
        kind = Rejection if isinstance(error, Rejection) else ServiceError
        answer = self._request.app.exception_handlers[kind](self._request, error)
        assert isinstance(answer, Response)
        return {"status": answer.status_code, **json.loads(bytes(answer.body))}


def appended(lines: int, repeated: int, problems: Sequence[Mapping[str, Any]]) -> Response:
    """Answer with what became of the lines; where one is not acknowledged, as to a request of its own.

    Of several, the one with the highest status: that passes if any does, and a client that sends again what
    may pass loses no line.
    """
    counts = {
        "lines": lines,
        "acknowledged": lines - len(problems),
        "repeated": repeated,
        "problems": problems,
    }
    if not problems:
        return _answer(counts)
    worst = max(problems, key=lambda problem: problem["status"])
    status = worst["status"]
    told = {name: value for name, value in worst.items() if name not in {"line", "status"}}
    told["what"] = f"line {worst['line']}: {told['what']}"
    response = _answer({**told, "lines": counts}, status)
    if status in PASSING:
        response.headers["Retry-After"] = SOON_SECONDS
    return response


def _answer(fields: Mapping[str, Any], status: int = HTTPStatus.OK) -> Response:
    return Response(to_json(fields), status, media_type=JSON)
