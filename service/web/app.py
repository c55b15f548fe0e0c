"""Build the HTTP application from metrics, health, models and settings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fastapi import FastAPI
from fastapi_offline import FastAPIOffline

from service.clock import SYSTEM_CLOCK, Clock
from service.intake.submissions import SubmissionReader
from service.monitoring.health import Health
from service.monitoring.live_models import LiveModels
from service.monitoring.metrics import Metrics
from service.redaction import redacted_url
from service.settings.forms import split_address
from service.settings.load import Settings
from service.version import version
from service.web.api import add_api
from service.web.direct import Direct
from service.web.guard import BODY_SECONDS, LOOPBACK_NAMES, MONITORING, PROBES, AccessPolicy, Guard
from service.web.inputs import Inputs, add_inputs
from service.web.page import SWAGGER_UI, add_pages
from service.web.probes import add_probes
from service.web.problems import translate_errors
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
    routes = add_api(app, Window(metrics, live, about(settings, health)))
    routes |= add_inputs(app, Inputs(metrics, live, health, settings, SubmissionReader(settings)))
    app.add_middleware(Direct, routes=routes, owner=app)
    add_probes(app, metrics.registry, health)
    add_pages(app)
    translate_errors(app)
    app.add_middleware(Guard, rules=rules(settings))
    return app


def about(settings: Settings, health: Health, clock: Clock = SYSTEM_CLOCK) -> Callable[[], dict[str, Any]]:
    """Return the fields of the service as a whole: its state, its start, and its stream."""
    began, takes_own = clock.monotonic(), _takes_own(settings)

    def now() -> dict[str, Any]:
        return {
            "state": health.state,
            "reason": health.reason,
            "uptime_seconds": clock.monotonic() - began,
            "seconds": clock.monotonic(),
            "broker": redacted_url(settings.broker_url),
            "topic": settings.events_topic,
            "group": settings.group,
            "teaches": takes_own,
        }

    return now


def _takes_own(settings: Settings) -> bool:
    """Return whether events and labels that are posted may have the service's own schema, as on the page."""
    if not settings.takes_inputs:
        return False
    if not settings.labels_topic:
        return not settings.events.is_mapped
    return not any(
        table.model_copy(update={"unknown_fields": ""}).is_mapped
        for table in (settings.events, settings.labels)
    )


def rules(settings: Settings) -> AccessPolicy:
    """Return the access rules of the settings.

    Without `http_hosts`, a token is protection enough where others may ask: a web page does not know it.
    """
    token, is_on_loopback = settings.http_token.get_secret_value(), settings.is_on_loopback
    names = settings.http_hosts
    if not names and (is_on_loopback or not token):
        names = (*LOOPBACK_NAMES, split_address(settings.http)[0])
    return AccessPolicy(
        max_body_bytes=settings.max_message_bytes,
        token=token,
        hosts=frozenset(names),
        answers_addresses=not (is_on_loopback or settings.http_hosts),
        unnamed=PROBES if is_on_loopback else MONITORING,  # which ask by the address of a container or a pod
        takes_inputs=settings.takes_inputs,
        body_seconds=BODY_SECONDS,
    )
