"""The endpoints about models: predictions, explanations, descriptions."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from typing import Annotated, Any, Final, Literal, TypeAlias

from fastapi import APIRouter, Query, Request, Response
from pydantic import Field
from starlette.concurrency import run_in_threadpool

from service.errors import ModelBusy
from service.messages.schema import UnlabelledEvent
from service.monitoring.live_models import Assessed, LiveModel, LiveModels
from service.monitoring.summary import RANKED
from service.web.requests import (
    JSON,
    MAIL,
    READ_AT_ONCE_BYTES,
    Parameters,
    body_of,
    described_body,
    mail_event,
    media_type_of,
)
from service.web.responses import (
    DecisionsDescription,
    Explanation,
    LivePrediction,
    ModelDescription,
    documented,
    json_response,
)
from service.web.views import Window

_Ask: TypeAlias = Callable[..., Assessed]
"""A method of `LiveModel`."""

_LARGEST_PARTITION: Final = 2**31 - 1
_ASKED_FOR = documented(HTTPStatus.NOT_FOUND, HTTPStatus.UNPROCESSABLE_ENTITY, HTTPStatus.SERVICE_UNAVAILABLE)
BODY_READ = documented(
    HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.REQUEST_ENTITY_TOO_LARGE, HTTPStatus.UNSUPPORTED_MEDIA_TYPE
)
_EVENT: Final = UnlabelledEvent.model_json_schema()
_MAPPED_EVENT: Final[dict[str, Any]] = {
    "type": "object",
    "description": "An event as on its topic; the settings `events` say where id, text and features are.",
}
_MAIL: Final = {"type": "string", "description": "A mail: its subject and text; its event has the id `-`."}


class _AskedPartition(Parameters):
    partition: int | None = Field(None, ge=0, le=_LARGEST_PARTITION)
    """Partition whose model to ask. Default: the partition of an event with this id as its key, if this
    process serves it; otherwise, or without an event, the first partition that this process serves. The
    response has it as `partition`; `owned` is whether it is the event's partition."""


class _AskedEvent(_AskedPartition):
    fields: Literal["topic", "native"] = "topic"
    """`topic`: the body is read like a record of the events topic. `native`: the body has the schema that
    `perceptron schema event` shows, even if the settings map other fields."""


class _AskedModel(_AskedPartition):
    top: int = Field(20, ge=0, le=RANKED)
    """Number of weights to show."""


def api_router(window: Window) -> APIRouter:
    """Return the endpoints that read from `window`."""
    api = APIRouter(tags=["model"])
    _add_questions(api, window.live)
    _add_descriptions(api, window)
    return api


def _add_questions(api: APIRouter, live: LiveModels) -> None:
    event = {JSON: _MAPPED_EVENT if live.asks_as_mapped else _EVENT}
    bodies = described_body({**event, MAIL: _MAIL})
    responses = _ASKED_FOR | BODY_READ

    @api.post("/predict", responses=responses, openapi_extra=bodies, response_model=LivePrediction)
    async def predict(request: Request, query: Annotated[_AskedEvent, Query()]) -> Response:
        """Predict an event without a label. Nothing is learned and nothing written to the stream.

        A mail is an event of its subject and text.
        """
        is_native = query.fields == "native"
        if media_type_of(request) == MAIL:
            body, is_native = await mail_event(request), True
        else:
            body = await body_of(request)
        return await _respond(live, LiveModel.predict, body, query.partition, is_native=is_native)

    @api.post(
        "/explain", responses=responses, openapi_extra=described_body(event), response_model=Explanation
    )
    async def explain(request: Request, query: Annotated[_AskedEvent, Query()]) -> Response:
        """Predict an event without a label, and show which of its features decided."""
        is_native = query.fields == "native"
        return await _respond(
            live, LiveModel.explain, await body_of(request), query.partition, is_native=is_native
        )


async def _respond(
    live: LiveModels, ask: _Ask, body: bytes, partition: int | None, *, is_native: bool
) -> Response:
    """Respond to a question, on the server's thread if the model is fast."""

    def respond(*patience_seconds: float) -> Response:
        question = live.questions.read(body, is_native=is_native)
        model = live.get(partition, question.id)
        whose = {"partition": model.partition, "owned": live.owns(model.partition, question.id)}
        return json_response({**ask(model, question, *patience_seconds), **whose})

    is_short = len(body) <= READ_AT_ONCE_BYTES and (is_native or live.questions.is_plain)
    if is_short and live.predicts_fast:
        with suppress(ModelBusy):
            return respond(0.0)
    return await run_in_threadpool(respond)


def _add_descriptions(api: APIRouter, window: Window) -> None:
    @api.get("/model", responses=_ASKED_FOR)
    def model(query: Annotated[_AskedModel, Query()]) -> ModelDescription:
        """Describe a partition's model: kind, parameters, counts, largest weights, bound, memory."""
        return window.describe(window.live.get(query.partition), query.top)

    @api.get("/decisions", responses=_ASKED_FOR)
    def decisions(query: Annotated[_AskedPartition, Query()]) -> DecisionsDescription:
        """Describe a partition's decisions, and the results that other thresholds would have had."""
        model = window.live.get(query.partition)
        return DecisionsDescription(partition=model.partition, **model.decisions())

    @api.get("/state", responses=_ASKED_FOR)
    def state(query: Annotated[_AskedPartition, Query()]) -> dict[str, Any]:
        """Return what the live page shows. The format is private to the page and may change."""
        return window.state(query.partition)
