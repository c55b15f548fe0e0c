"""The HTTP interface. In: what there is to see, and who may see it. Out: the application."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastapi import FastAPI
from prometheus_client import CollectorRegistry

from service.errors import NoSuchModel
from service.health import Health
from service.settings import Settings
from service.version import version
from service.web.guard import BODY_SECONDS, LOOPBACK_NAMES, Guard, Rules
from service.web.page import add_pages
from service.web.probes import add_probes
from service.web.problems import translate_errors

if TYPE_CHECKING:
    from service.live import LiveModels
    from service.metrics import Metrics

_DESCRIPTION = """\
Ask the models that are learning now. Nothing here teaches them: labels belong on the stream.
Every error is a JSON object that says what is wrong, where, and what to do about it.
"""


def make_app(
    registry: CollectorRegistry,
    health: Health,
    settings: Settings,
    metrics: Metrics | None = None,
    live: LiveModels | None = None,
) -> FastAPI:
    """Make the application.

    Without `metrics` and `live` it is that of a parent of workers, which has no models and speaks for them
    where it can.
    """
    app = FastAPI(
        title="online-perceptron", version=version(), description=_DESCRIPTION, docs_url=None, redoc_url=None
    )
    if metrics is None or live is None:
        _add_absent_models(app)
    else:
        from service.web.api import add_api  # noqa: PLC0415  needs all that a parent of workers does without
        from service.web.window import Window  # noqa: PLC0415

        add_api(app, Window(health, metrics, live))
    add_probes(app, registry, health)
    add_pages(app)
    translate_errors(app)
    app.add_middleware(Guard, rules=rules(settings))
    return app


def _add_absent_models(app: FastAPI) -> None:
    def refuse() -> None:
        raise NoSuchModel(
            "the models are in the worker processes, and this one only speaks for them",
            hint="/metrics, /livez and /readyz speak for all; for the rest, serve with --workers 1",
        )

    for path in ("/predict", "/explain", "/model", "/state"):
        app.add_api_route(path, refuse, methods=["GET", "POST"], include_in_schema=False)


def rules(settings: Settings) -> Rules:
    """Say who may ask, by the settings: a server that listens for this machine alone knows its names."""
    return Rules(
        max_body_bytes=settings.max_message_bytes,
        token=settings.http_token.get_secret_value(),
        hosts=LOOPBACK_NAMES if settings.is_on_loopback else (),
        body_seconds=BODY_SECONDS,
    )
