"""Build the HTTP application from metrics, health, models and settings: the API, the pages and the probes.

The endpoints that append to topics are in `service.web.inputs`. All files come from this package and from the
package of Swagger UI, never from another host.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeAlias

from fastapi import APIRouter, FastAPI, Header, Query, Request, Response
from fastapi.responses import FileResponse
from fastapi_offline import FastAPIOffline
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder
from pydantic import Field
from starlette.concurrency import run_in_threadpool
from starlette.staticfiles import StaticFiles

from service.errors import ModelBusy
from service.intake.submissions import SubmissionReader
from service.messages.schema import UnlabelledEvent
from service.monitoring.health import Health, State
from service.monitoring.live_models import Assessed, LiveModel, LiveModels
from service.monitoring.metrics import Metrics
from service.monitoring.summary import RANKED
from service.settings.load import Settings
from service.version import version
from service.web.guard import STATIC, Guard
from service.web.inputs import Inputs
from service.web.requests import (
    JSON,
    MAIL,
    READ_AT_ONCE_BYTES,
    Parameters,
    PostEndpoints,
    body_of,
    described_body,
    mail_event,
    media_type_of,
)
from service.web.responses import (
    BODY_READ,
    ERROR_HANDLERS,
    DecisionsDescription,
    Explanation,
    LivePrediction,
    ModelDescription,
    ResponseModel,
    documented,
    json_response,
)
from service.web.views import Window

_DESCRIPTION = """\
Ask the models that are learning now, which teaches them nothing; and append events and labels to the stream,
which they learn from.
Every error is a JSON object that says what is wrong, where, and what to do about it.
"""
FOLDER: Final = Path(__file__).with_name("static")
"""The files of the pages."""
_SWAGGER_UI: Final = f"{STATIC}swagger-ui"
"""Path at which docs.html finds the files of fastapi-offline."""


def make_app(settings: Settings, health: Health, metrics: Metrics, live: LiveModels) -> FastAPI:
    """Make the application that serves the models of this process."""
    app = FastAPIOffline(
        docs_url=None,  # FastAPI's page has inline scripts
        redoc_url=None,
        static_url=_SWAGGER_UI,
        title="online-perceptron",
        version=version(),
        description=_DESCRIPTION,
        exception_handlers=dict(ERROR_HANDLERS),
    )
    window, api = Window(metrics, live, settings, health), APIRouter(tags=["model"])
    _add_questions(api, live)
    _add_descriptions(api, window)
    inputs = Inputs(metrics, live, health, settings, SubmissionReader(settings)).router()
    for router in (api, inputs, _probes(metrics.registry, health)):
        app.include_router(router)
    for path, name in (("/", "page.html"), ("/docs", "docs.html")):
        app.get(path, include_in_schema=False, response_model=None)(_page(name))
    app.mount(STATIC.rstrip("/"), StaticFiles(directory=FOLDER))
    app.add_middleware(PostEndpoints, routers=[api, inputs])
    app.add_middleware(Guard, settings=settings)
    return app


def _page(name: str) -> Callable[[], FileResponse]:
    return lambda: FileResponse(FOLDER / name)


class Condition(ResponseModel):
    """The condition of the loop."""

    state: str
    reason: str
    """Why it is not ready; empty if it is."""


_OPENMETRICS: Final = "application/openmetrics-text"
_UNREADY: Final[dict[int | str, dict[str, Any]]] = {
    503: {"model": Condition, "description": "Not ready; `reason` has the cause."}
}


def _probes(registry: CollectorRegistry, health: Health) -> APIRouter:
    """Return the endpoints of the metrics and of the probes."""
    api = APIRouter(tags=["operations"])

    @api.get("/metrics", response_class=Response)
    def metrics(accept: Annotated[str, Header()] = "") -> Response:
        """Return all metrics, in Prometheus' text format or as OpenMetrics."""
        encode, content_type = choose_encoder(_OPENMETRICS if _OPENMETRICS in accept.lower() else "")
        return Response(encode(registry), media_type=content_type)

    @api.get("/livez", responses=_UNREADY)
    async def livez(response: Response) -> Condition:  # not in a thread, which requests may occupy
        """Return whether the loop runs; 503 when a restart would help."""
        return condition(response, is_well=health.is_live)

    @api.get("/readyz", responses=_UNREADY)
    async def readyz(response: Response) -> Condition:
        """Return whether events are being processed now; 503 with the reason if not."""
        return condition(response, is_well=health.state is State.READY)

    def condition(response: Response, *, is_well: bool) -> Condition:
        response.status_code = HTTPStatus.OK if is_well else HTTPStatus.SERVICE_UNAVAILABLE
        state, reason = health.condition
        return Condition(state=state, reason=reason)

    return api


_Ask: TypeAlias = Callable[..., Assessed]
"""A method of `LiveModel`."""

_MAX_PARTITION: Final = 2**31 - 1
_ASKED_FOR = documented(HTTPStatus.NOT_FOUND, HTTPStatus.UNPROCESSABLE_ENTITY, HTTPStatus.SERVICE_UNAVAILABLE)
_EVENT: Final = UnlabelledEvent.model_json_schema()
_MAPPED_EVENT: Final[dict[str, Any]] = {
    "type": "object",
    "description": "An event as on its topic; the settings `events` say where id, text and features are.",
}
_MAIL: Final = {"type": "string", "description": "A mail: its subject and text; its event has the id `-`."}


class _AskedPartition(Parameters):
    partition: int | None = Field(None, ge=0, le=_MAX_PARTITION)
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
