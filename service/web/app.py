"""Build the HTTP application from metrics, health, models and settings: the API, the pages and the probes.

All files come from this package and from the package of Swagger UI, never from another host.
"""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from pathlib import Path
from typing import Annotated, Any, Final

from fastapi import APIRouter, FastAPI, Header, Response
from fastapi.responses import FileResponse
from fastapi_offline import FastAPIOffline
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder
from starlette.staticfiles import StaticFiles

from service.intake.submissions import SubmissionReader
from service.monitoring.health import Health, State
from service.monitoring.live_models import LiveModels
from service.monitoring.metrics import Metrics
from service.settings.load import Settings
from service.version import version
from service.web.api import api_router
from service.web.guard import STATIC, Guard
from service.web.inputs import Inputs
from service.web.requests import PostEndpoints
from service.web.responses import ERROR_HANDLERS, ResponseModel
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
    api = api_router(Window(metrics, live, settings, health))
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
    def livez(response: Response) -> Condition:
        """Return whether the loop runs; 503 when a restart would help."""
        return condition(response, is_well=health.is_live)

    @api.get("/readyz", responses=_UNREADY)
    def readyz(response: Response) -> Condition:
        """Return whether events are being processed now; 503 with the reason if not."""
        return condition(response, is_well=health.state is State.READY)

    def condition(response: Response, *, is_well: bool) -> Condition:
        response.status_code = HTTPStatus.OK if is_well else HTTPStatus.SERVICE_UNAVAILABLE
        state, reason = health.condition
        return Condition(state=state, reason=reason)

    return api
