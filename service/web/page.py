"""The live page, and the page that documents the API.

All files come from this package and from the one that delivers Swagger UI, never from another host.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from fastapi import APIRouter, FastAPI, Request
from fastapi.responses import FileResponse, PlainTextResponse
from starlette.staticfiles import StaticFiles

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
