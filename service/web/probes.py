"""The endpoints for who watches the service. In: metrics and health. Out: both, as they are asked for."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated, Any

from fastapi import APIRouter, FastAPI, Header, Response
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder
from pydantic import Field

from service.health import Health
from service.web.problems import Answered


class Condition(Answered):
    """How the loop is."""

    state: str
    reason: str = Field(description="Why it is not ready; empty if it is.")


def add_probes(app: FastAPI, registry: CollectorRegistry, health: Health) -> None:
    """Add the metrics and the probes."""
    api = APIRouter(tags=["operations"])

    @api.get("/metrics", response_class=Response)
    def metrics(accept: Annotated[str, Header()] = "") -> Response:
        """Give all metrics, in Prometheus' text format or as OpenMetrics."""
        encode, content_type = choose_encoder(accept)
        return Response(encode(registry), media_type=content_type)

    unready: dict[int | str, dict[str, Any]] = {
        503: {"model": Condition, "description": "It is not; the reason tells why."}
    }

    @api.get("/livez", responses=unready)
    def livez(response: Response) -> Condition:
        """Tell whether the loop is at work; 503 when a restart would help."""
        response.status_code = HTTPStatus.OK if health.is_live else HTTPStatus.SERVICE_UNAVAILABLE
        return Condition(state=health.state, reason=health.reason)

    @api.get("/readyz", responses=unready)
    def readyz(response: Response) -> Condition:
        """Tell whether events are being processed now; 503 with the reason if not."""
        response.status_code = HTTPStatus.OK if health.is_ready else HTTPStatus.SERVICE_UNAVAILABLE
        return Condition(state=health.state, reason=health.reason)

    app.include_router(api)
