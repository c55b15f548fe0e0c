"""The live page, and the page that documents the API.

All files come from this package and from the one that delivers Swagger UI, never from another host.
"""

from __future__ import annotations

import logging
from importlib.resources import files
from pathlib import Path
from typing import Final

from fastapi import APIRouter, FastAPI
from fastapi.responses import FileResponse, RedirectResponse
from starlette.staticfiles import StaticFiles

from service.web.guard import STATIC

_FOLDER: Final = Path(__file__).with_name("static")
_SWAGGER_UI: Final = Path(str(files("fastapi_offline"))) / "static"
"""Where fastapi-offline 1 keeps it, without saying so."""
_SWAGGER_UI_FILES: Final = ("swagger-ui-bundle.js", "swagger-ui.css")

_log = logging.getLogger(__name__)


def add_pages(app: FastAPI) -> None:
    """Add the pages and their files to an application."""
    pages = APIRouter(include_in_schema=False)

    @pages.get("/")
    def live_page() -> FileResponse:
        return FileResponse(_FOLDER / "page.html")

    has_swagger_ui = all((_SWAGGER_UI / name).is_file() for name in _SWAGGER_UI_FILES)

    @pages.get("/docs", response_model=None)
    def docs() -> FileResponse | RedirectResponse:
        return FileResponse(_FOLDER / "docs.html") if has_swagger_ui else RedirectResponse("/openapi.json")

    app.include_router(pages)
    if has_swagger_ui:
        app.mount(f"{STATIC}swagger-ui", StaticFiles(directory=_SWAGGER_UI))
    else:
        _log.warning("fastapi-offline has no Swagger UI in %s: /docs shows /openapi.json", _SWAGGER_UI)
    app.mount(STATIC.rstrip("/"), StaticFiles(directory=_FOLDER))
