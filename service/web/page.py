"""What people look at: the live page and the page that explains the API. All of it comes from here.

In: nothing. Out: files of this package, and of the one that delivers Swagger UI; never from elsewhere.
"""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Final

from fastapi import APIRouter, FastAPI
from fastapi.responses import FileResponse
from starlette.staticfiles import StaticFiles

from service.web.guard import STATIC

_FOLDER: Final = Path(__file__).with_name("static")
_SWAGGER_UI: Final = Path(str(files("fastapi_offline"))) / "static"


def add_pages(app: FastAPI) -> None:
    """Add the pages and their files to an application."""
    pages = APIRouter(include_in_schema=False)

    @pages.get("/")
    def live_page() -> FileResponse:
        return FileResponse(_FOLDER / "page.html")

    @pages.get("/docs")
    def docs() -> FileResponse:
        return FileResponse(_FOLDER / "docs.html")

    app.include_router(pages)
    app.mount(f"{STATIC}swagger-ui", StaticFiles(directory=_SWAGGER_UI))
    app.mount(STATIC.rstrip("/"), StaticFiles(directory=_FOLDER))
