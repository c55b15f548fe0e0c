"""Turn errors of requests into a status and a `Problem`: what, where, hint."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException

from service.errors import (
    IdTaken,
    MessageTooLarge,
    ModelBusy,
    NoSuchModel,
    PartitionElsewhere,
    ServiceError,
    TooFarBehind,
)
from service.web.together import ALL

_HINTS: Final[Mapping[int, str]] = {
    HTTPStatus.NOT_FOUND: "/docs lists everything there is",
    HTTPStatus.METHOD_NOT_ALLOWED: "/docs tells how each address is asked",
}
SOON_SECONDS: Final = "1"
_STATUSES: Final[Mapping[type[ServiceError], HTTPStatus]] = {
    IdTaken: HTTPStatus.CONFLICT,
    MessageTooLarge: HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    PartitionElsewhere: HTTPStatus.MISDIRECTED_REQUEST,
    TooFarBehind: HTTPStatus.TOO_MANY_REQUESTS,
}
PASSING: Final = frozenset({HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.TOO_MANY_REQUESTS})


class UnsupportedBody(HTTPException):
    """A body in a form that is not read here."""

    def __init__(self, what: str, hint: str) -> None:
        super().__init__(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, what)
        self.hint = hint


class Answered(BaseModel):
    """What all answers have in common: nothing is in them that is not described."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class WhatIsWrong(Answered):
    """What is wrong with a request, or with a line of its body."""

    what: str = Field(description="What is wrong.")
    where: str = Field(description="In which part of the request, or of the service.")
    hint: str = Field("", description="What to do about it.")
    reason: str | None = Field(
        None, description="Of an event or a label: the `error.reason` its dead letter would have."
    )
    partition: int | None = Field(
        None, description="Of an event or a label that belongs to another process: where it goes."
    )


class LineProblem(WhatIsWrong):
    """Why a line of a body was not answered, or not acknowledged."""

    line: int = Field(ge=1, description="Its number in the body.")
    status: int = Field(description="Of the answer to a request of its own.")


class LinesAppended(Answered):
    """What became of the lines of a body: each was acknowledged, or has its problem."""

    lines: int = Field(ge=0, description="How many there are, empty ones included.")
    acknowledged: int = Field(ge=0, description="Those that are durable on the topic.")
    repeated: int = Field(ge=0, description="Of the acknowledged, those that had been appended before.")
    problems: list[LineProblem] = Field(description="Of all others, in order.")


class Problem(WhatIsWrong):
    """Why a request was not answered."""

    lines: LinesAppended | None = Field(
        None, description="Of an NDJSON body that is not acknowledged as a whole; the rest is about one line."
    )


def problem_response(
    status: int,
    what: str,
    where: str,
    hint: str = "",
    *,
    reason: str | None = None,
    partition: int | None = None,
    **headers: str,
) -> Response:
    """Make the answer to a request that cannot be answered."""
    problem = Problem(what=what, where=where, hint=hint, reason=reason, partition=partition)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    body = problem.model_dump_json(exclude_none=True)
    return Response(body, status, named, media_type="application/json")


def documented(*statuses: HTTPStatus) -> dict[int | str, dict[str, Any]]:
    """Describe answers of these statuses, for the OpenAPI document."""
    return {int(status): {"model": Problem, "description": status.phrase} for status in statuses}


def translate_errors(app: FastAPI) -> None:
    """Register a handler for every error that an endpoint may raise."""
    app.add_exception_handler(ServiceError, _of_service_error)
    app.add_exception_handler(RequestValidationError, _of_parameters)
    app.add_exception_handler(HTTPException, _of_http)
    app.add_exception_handler(Exception, _of_accident)


def _place(request: Request) -> str:
    return f"{request.method} {request.url.path}"


def _of_service_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, ServiceError)
    asked_for_one = isinstance(error, NoSuchModel) and request.query_params.get("partition", ALL) != ALL
    status = _STATUSES.get(type(error), HTTPStatus.SERVICE_UNAVAILABLE)
    if asked_for_one:
        status = HTTPStatus.NOT_FOUND
    headers = {"Retry_After": SOON_SECONDS} if status in PASSING else {}
    is_about_partition = isinstance(error, (NoSuchModel, ModelBusy, PartitionElsewhere))
    where = "partition" if is_about_partition else _place(request)
    partition = error.partition if isinstance(error, PartitionElsewhere) else None
    return problem_response(status, str(error), where, error.hint, partition=partition, **headers)


def _of_parameters(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    where = " ".join(map(str, first["loc"][:2]))  # what follows are the types that Pydantic tried
    return problem_response(
        HTTPStatus.UNPROCESSABLE_ENTITY, first["msg"], where, "/docs describes each parameter"
    )


def _of_http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    hint = error.hint if isinstance(error, UnsupportedBody) else _HINTS.get(error.status_code, "")
    response = problem_response(error.status_code, error.detail, _place(request), hint)
    response.headers.update(error.headers or {})
    return response


def _of_accident(request: Request, error: Exception) -> Response:
    """Answer what should not happen; the server logs it."""
    what = f"the service failed: {type(error).__name__}"
    hint = "the service's log tells what happened; please report it"
    return problem_response(HTTPStatus.INTERNAL_SERVER_ERROR, what, _place(request), hint)
