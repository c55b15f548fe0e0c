"""The HTTP interface. In: requests. Out: metrics in the format the client asks for, and probes."""

from __future__ import annotations

from typing import Annotated

from fastapi import FastAPI, Header, Response
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder

from service.health import Health
from service.version import version


def make_app(registry: CollectorRegistry, health: Health) -> FastAPI:
    """Make the application that shows `registry` and `health`."""
    app = FastAPI(title="online-perceptron", version=version(), docs_url=None, redoc_url=None)

    @app.get("/metrics", response_class=Response)
    def metrics(accept: Annotated[str, Header()] = "") -> Response:
        """Give all metrics, in Prometheus' text format or as OpenMetrics."""
        encode, content_type = choose_encoder(accept)
        return Response(encode(registry), media_type=content_type)

    @app.get("/livez")
    def livez(response: Response) -> dict[str, str]:
        """Tell whether the loop is at work; 503 when a restart would help."""
        response.status_code = 200 if health.is_live else 503
        return {"state": health.state, "reason": health.reason}

    @app.get("/readyz")
    def readyz(response: Response) -> dict[str, str]:
        """Tell whether events are being processed now; 503 with the reason if not."""
        response.status_code = 200 if health.is_ready else 503
        return {"state": health.state, "reason": health.reason}

    return app
