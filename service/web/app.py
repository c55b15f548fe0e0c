"""Build the HTTP application from metrics, health, models and settings."""

from __future__ import annotations

from fastapi import FastAPI
from fastapi_offline import FastAPIOffline

from service.intake.submissions import SubmissionReader
from service.monitoring.health import Health
from service.monitoring.live_models import LiveModels
from service.monitoring.metrics import Metrics
from service.settings.load import Settings
from service.version import version
from service.web.answers import translate_errors
from service.web.api import api_router
from service.web.guard import AccessPolicy, Guard
from service.web.inputs import Inputs, inputs_router
from service.web.pages import SWAGGER_UI, add_pages, add_probes
from service.web.requests import PostEndpoints
from service.web.views import Window

_DESCRIPTION = """\
Ask the models that are learning now, which teaches them nothing; and append events and labels to the stream,
which they learn from.
Every error is a JSON object that says what is wrong, where, and what to do about it.
"""


def make_app(settings: Settings, health: Health, metrics: Metrics, live: LiveModels) -> FastAPI:
    """Make the application, which answers for the models of this process."""
    app = FastAPIOffline(
        docs_url=None,  # FastAPI's page has inline scripts
        redoc_url=None,
        static_url=SWAGGER_UI,
        title="online-perceptron",
        version=version(),
        description=_DESCRIPTION,
    )
    api = api_router(Window(metrics, live, settings, health))
    inputs = inputs_router(Inputs(metrics, live, health, settings, SubmissionReader(settings)))
    app.include_router(api)
    app.include_router(inputs)
    app.add_middleware(PostEndpoints, routers=[api, inputs])
    add_probes(app, metrics.registry, health)
    add_pages(app)
    translate_errors(app)
    app.add_middleware(Guard, policy=AccessPolicy.of(settings))
    return app
