"""The live page, the page that documents the API, and the endpoints for monitoring.

All files come from this package and from the one that delivers Swagger UI, never from another host.
"""

from __future__ import annotations

from http import HTTPStatus
from pathlib import Path
from typing import Annotated, Any, Final

from fastapi import APIRouter, FastAPI, Header, Request, Response
from fastapi.responses import FileResponse, PlainTextResponse
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder
from pydantic import Field
from starlette.staticfiles import StaticFiles

from service.monitoring.health import Health, State
from service.web.answers import Answered
from service.web.guard import STATIC

_FOLDER: Final = Path(__file__).with_name("static")
SWAGGER_UI: Final = f"{STATIC}swagger-ui"
"""Where docs.html looks for the files that fastapi-offline has."""

_TERMINALS: Final = ("curl/", "Wget/", "HTTPie/")
_HELP: Final = """\
online-perceptron: it predicts the class of each event of a stream, and learns from the label.

  curl '{url}/predict?text=win+a+prize'                          predict a text
  curl --json '{{"id": "m-1", "text": "win a prize"}}' {url}/predict
                                                                 an event; /explain says why
  curl -H 'Content-Type: text/plain' --data-binary @file {url}/predict
                                                                 a file; message/rfc822 for a mail
  curl -H 'Content-Type: application/x-ndjson' --data-binary @file {url}/predict
                                                                 an event a line
  curl --json '{{"id": "m-1", "text": "win a prize"}}' {url}/events
  curl --json '{{"id": "m-1", "label": true}}' {url}/labels
                                                                 teach it
  curl {url}/model                                               what it has learned
  curl {url}/metrics                                             counts of mistakes, for Prometheus
  curl {url}/readyz                                              whether it processes events

A browser shows the live page here, and all of this at {url}/docs.
"""


def add_pages(app: FastAPI) -> None:
    """Add the pages and their files to an application."""
    pages = APIRouter(include_in_schema=False)

    @pages.get("/", response_model=None)
    def live_page(request: Request) -> FileResponse | PlainTextResponse:
        if request.headers.get("user-agent", "").startswith(_TERMINALS):
            return PlainTextResponse(_HELP.format(url=str(request.base_url).rstrip("/")))
        return FileResponse(_FOLDER / "page.html")

    @pages.get("/docs", response_model=None)
    def docs() -> FileResponse:
        return FileResponse(_FOLDER / "docs.html")

    app.include_router(pages)
    app.mount(STATIC.rstrip("/"), StaticFiles(directory=_FOLDER))


class Condition(Answered):
    """How the loop is."""

    state: str
    reason: str = Field(description="Why it is not ready; empty if it is.")


_OPENMETRICS: Final = "application/openmetrics-text"
_UNREADY: Final[dict[int | str, dict[str, Any]]] = {
    503: {"model": Condition, "description": "It is not; the reason tells why."}
}


def add_probes(app: FastAPI, registry: CollectorRegistry, health: Health) -> None:
    """Add the metrics and the probes."""
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

    app.include_router(api)
