"""The endpoints for monitoring: metrics and health."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated, Any, Final

from fastapi import APIRouter, FastAPI, Header, Response
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder
from pydantic import Field

from service.monitoring.health import Health, State
from service.web.problems import Answered

_OPENMETRICS: Final = "application/openmetrics-text; version=1.0.0"
_OPENMETRICS_VERSIONS: Final = frozenset({"", "0.0.1", "1.0.0"})
_TEXT_TYPES: Final = frozenset({"text/plain", "text/*", "*/*"})


def prefers_openmetrics(accept: str) -> bool:
    """Return whether an `Accept` header asks for OpenMetrics rather than Prometheus' text format.

    The text format is for all who accept neither or say something that cannot be read: a scraper that says
    nothing sensible is better served than refused.

    >>> prefers_openmetrics("application/openmetrics-text;version=1.0.0;q=0.5,text/plain;q=0.2")
    True
    >>> prefers_openmetrics("application/openmetrics-text; version=abc")
    False
    """
    openmetrics, text = 0.0, 0.0
    for media_range in accept.split(","):
        media_type, *parameters = (part.strip().lower() for part in media_range.split(";"))
        given = {name.strip(): value.strip(' "') for name, _, value in (p.partition("=") for p in parameters)}
        quality = _quality(given.get("q", "1"))
        if media_type in _TEXT_TYPES:
            text = max(text, quality)
        elif (
            media_type == "application/openmetrics-text" and given.get("version", "") in _OPENMETRICS_VERSIONS
        ):
            openmetrics = max(openmetrics, quality)
    return openmetrics > 0 and openmetrics >= text


def _quality(text: str) -> float:
    """Read a weight from 0 to 1; 0 for what is none."""
    try:
        quality = float(text)
    except ValueError:
        return 0.0
    return quality if 0 <= quality <= 1 else 0.0


class Condition(Answered):
    """How the loop is."""

    state: str
    reason: str = Field(description="Why it is not ready; empty if it is.")


def add_probes(app: FastAPI, registry: CollectorRegistry, health: Health) -> None:
    """Add the metrics and the probes."""
    api = APIRouter(tags=["operations"])

    @api.get("/metrics", response_class=Response)
    def metrics(accept: Annotated[str, Header()] = "") -> Response:
        """Return all metrics, in Prometheus' text format or as OpenMetrics."""
        encode, content_type = choose_encoder(_OPENMETRICS if prefers_openmetrics(accept) else "")
        return Response(encode(registry), media_type=content_type)

    unready: dict[int | str, dict[str, Any]] = {
        503: {"model": Condition, "description": "It is not; the reason tells why."}
    }

    @api.get("/livez", responses=unready)
    def livez(response: Response) -> Condition:
        """Return whether the loop runs; 503 when a restart would help."""
        response.status_code = HTTPStatus.OK if health.is_live else HTTPStatus.SERVICE_UNAVAILABLE
        state, reason = health.condition
        return Condition(state=state, reason=reason)

    @api.get("/readyz", responses=unready)
    def readyz(response: Response) -> Condition:
        """Return whether events are being processed now; 503 with the reason if not."""
        state, reason = health.condition
        response.status_code = HTTPStatus.OK if state is State.READY else HTTPStatus.SERVICE_UNAVAILABLE
        return Condition(state=state, reason=reason)

    app.include_router(api)
