"""The endpoints about models: predictions, explanations, descriptions."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from http import HTTPStatus
from typing import Annotated, Any, Final, Literal, TypeAlias

from fastapi import APIRouter, Depends, FastAPI, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import BeforeValidator, Field
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from typing_extensions import TypedDict

from service.errors import ModelBusy
from service.messages.rejection import Rejection
from service.messages.schema import UnlabelledEvent
from service.models.explanation import Decision
from service.monitoring.live_models import Assessed, LiveModel, LiveModels, Question
from service.monitoring.portrait import RANKED
from service.web.bodies import (
    JSON,
    NDJSON,
    body_of,
    event_body,
    event_of,
    has_lines,
    text_event,
    with_lines,
    with_texts,
)
from service.web.direct import DirectRoute
from service.web.lines import predict_lines
from service.web.problems import documented, problem_response
from service.web.responses import (
    DecisionsDescription,
    Explanation,
    LivePrediction,
    ModelDescription,
    json_response,
)
from service.web.views import Window

Ask: TypeAlias = Callable[..., Assessed | tuple[Assessed, Decision]]
"""A method of `LiveModel`."""

READ_AT_ONCE_BYTES: Final = 16_384
"""Longer messages are read on a thread of their own: the server's answers others meanwhile."""
_WHOLE_NUMBER: Final = re.compile("0|-?[1-9][0-9]*")
_LONGEST_SHOWN: Final = 40
_LARGEST_PARTITION: Final = 2**31 - 1
_ASKED_FOR = documented(HTTPStatus.NOT_FOUND, HTTPStatus.UNPROCESSABLE_ENTITY, HTTPStatus.SERVICE_UNAVAILABLE)
BODY_READ = documented(
    HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.REQUEST_ENTITY_TOO_LARGE, HTTPStatus.UNSUPPORTED_MEDIA_TYPE
)
_LINES: Final[dict[int | str, dict[str, Any]]] = {
    int(HTTPStatus.OK): {
        "content": {
            NDJSON: {"schema": {"type": "string", "description": "As `application/json`, a line each."}}
        }
    }
}
_EVENT: Final = UnlabelledEvent.model_json_schema()
_MAPPED_EVENT: Final[dict[str, Any]] = {
    "type": "object",
    "description": "An event as on its topic; the settings `events` say where id, text and features are.",
}

_WHICH: Final = (
    "Whose model to ask. Default: that of the partition that an event with this id as its key would go to, "
    "if it is served by this process; else, and where there is no event, the first one that is. The answer "
    "tells whose it was as `partition`, and as `owned` whether the event's own."
)


def _as_written(text: object) -> object:
    """Refuse other forms of a whole number: Pydantic would read `1.0`, ` 1` and `1_0` as well."""
    if isinstance(text, str) and not _WHOLE_NUMBER.fullmatch(text):
        raise ValueError(f"{text[:_LONGEST_SHOWN]!r} is no whole number")
    return text


_AsWritten: Final = BeforeValidator(_as_written)
PartitionNumber = Annotated[int, Field(ge=0, le=_LARGEST_PARTITION), _AsWritten]
Partition = Annotated[PartitionNumber | None, Query(description=_WHICH)]
Shown = Annotated[
    PartitionNumber | Literal["all"] | None,
    Query(description="Whose model to show. Default: all together, if there are several."),
]
Fields = Annotated[
    Literal["topic", "own"],
    Query(
        description="`topic`: the body is read as the records of the events topic are. `own`: it has the "
        "schema that `perceptron schema event` shows, also where the settings map other fields to it."
    ),
]
Text = Annotated[str, Query(description="The text of an event that has nothing else; its id is `-`.")]
Top = Annotated[int, Field(ge=0, le=RANKED), _AsWritten, Query(description="How many weights to show.")]


def only_described(request: Request) -> None:
    """Refuse parameters that the endpoint does not have: one that is mistyped would have no effect."""
    known = {each.alias for each in request.scope["route"].dependant.query_params}
    unknown = [name for name in request.query_params if name not in known]
    if unknown:
        raise RequestValidationError([{"loc": ("query", unknown[0]), "msg": "there is no such parameter"}])


Body = Annotated[bytes, Depends(event_body)]


class _Asked(TypedDict, total=False):
    """The parameters of a question."""

    partition: Partition
    fields: Fields


class _Questions:
    """Answers questions from the models of this process: on the server's thread if that takes no time."""

    def __init__(self, live: LiveModels) -> None:
        self._live = live

    async def answer(
        self,
        ask: Ask,
        body: bytes,
        _: Headers | None = None,
        *,
        partition: int | None = None,
        fields: str = "topic",
    ) -> Response:
        if len(body) <= READ_AT_ONCE_BYTES:
            question, model = self._find(body, partition, fields)
            if model.answers_at_once:
                with suppress(ModelBusy):
                    return self._told(ask(model, question, 0.0), model, question)
        return await run_in_threadpool(self._wait, ask, body, partition, fields)

    def _wait(self, ask: Ask, body: bytes, partition: int | None, fields: str) -> Response:
        question, model = self._find(body, partition, fields)
        return self._told(ask(model, question), model, question)

    def _find(self, body: bytes, partition: int | None, fields: str) -> tuple[Question, LiveModel]:
        question = self._live.questions.read(body, is_own=fields == "own")
        return question, self._live.get(partition, question.id)

    def _told(
        self, answer: Assessed | tuple[Assessed, Decision], model: LiveModel, question: Question
    ) -> Response:
        assessed, further = (answer, {}) if isinstance(answer, dict) else (answer[0], answer[1].fields())
        owned = self._live.owns(model.partition, question.id)
        whose = {"partition": model.partition, "owned": owned}
        return json_response({**assessed, **whose, **further})


def add_api(app: FastAPI, window: Window) -> dict[str, DirectRoute]:
    """Add the endpoints that read from `window`; return the common forms of those that have one, by path."""
    api = APIRouter(tags=["model"], dependencies=[Depends(only_described)])
    questions = _Questions(window.live)
    _add_questions(api, window, questions)
    _add_descriptions(api, window)
    app.include_router(api)
    app.add_exception_handler(Rejection, _of_rejection)
    return {
        "/predict": DirectRoute(JSON, _Asked, partial(questions.answer, LiveModel.predict)),
        "/explain": DirectRoute(JSON, _Asked, partial(questions.answer, LiveModel.explain)),
    }


def _add_questions(api: APIRouter, window: Window, questions: _Questions) -> None:
    event = _MAPPED_EVENT if window.live.asks_as_mapped else _EVENT
    body: dict[str, Any] = {"requestBody": {"required": True, "content": {JSON: {"schema": event}}}}
    lines = with_texts(with_lines(body, "An event a line"))
    responses = _ASKED_FOR | BODY_READ

    @api.post("/predict", responses=responses | _LINES, openapi_extra=lines, response_model=LivePrediction)
    async def predict(request: Request, partition: Partition = None, fields: Fields = "topic") -> Response:
        """Predict an event without a label. Nothing is learned and nothing written to the stream.

        Of an NDJSON body, each line is answered by a line, in order; one that is refused, by its problem.
        A plain text and a mail are events of this text.
        """
        if (event := await text_event(request)) is not None:
            return await questions.answer(LiveModel.predict, event, partition=partition, fields="own")
        if has_lines(request):
            return await predict_lines(request, window.live, partition, is_own=fields == "own")
        return await questions.answer(
            LiveModel.predict, await body_of(request, JSON), partition=partition, fields=fields
        )

    @api.get("/predict", responses=_ASKED_FOR, response_model=LivePrediction)
    async def predict_text(text: Text, partition: Partition = None) -> Response:
        """Predict a text. Nothing is learned and nothing written to the stream."""
        return await questions.answer(LiveModel.predict, event_of(text), partition=partition, fields="own")

    @api.post("/explain", responses=responses, openapi_extra=body, response_model=Explanation)
    async def explain(body: Body, partition: Partition = None, fields: Fields = "topic") -> Response:
        """Predict an event without a label, and tell which of its features decided."""
        return await questions.answer(LiveModel.explain, body, partition=partition, fields=fields)


def _add_descriptions(api: APIRouter, window: Window) -> None:
    @api.get("/model", responses=_ASKED_FOR)
    def model(partition: Partition = None, top: Top = 20) -> ModelDescription:
        """Describe a partition's model: kind, parameters, counts, largest weights, bound, memory."""
        return window.describe(window.live.get(partition), top)

    @api.get("/decisions", responses=_ASKED_FOR)
    def decisions(partition: Partition = None) -> DecisionsDescription:
        """Describe a partition's decisions, and what each threshold would have come to."""
        model = window.live.get(partition)
        return DecisionsDescription(partition=model.partition, **model.decisions())

    @api.get("/state", responses=_ASKED_FOR)
    def state(partition: Shown = None) -> dict[str, Any]:
        """Return what the live page shows. Made for that page: it may change with it."""
        return window.state(partition)


def _of_rejection(request: Request, error: Exception) -> Response:
    assert isinstance(error, Rejection)
    kind = "label" if request.url.path == "/labels" else "event"
    hint = (
        f"`perceptron schema {kind}` shows what is expected; where {kind}s are mapped, the settings `{kind}s`"
    )
    return problem_response(HTTPStatus.UNPROCESSABLE_ENTITY, error.message, kind, hint, reason=error.reason)
