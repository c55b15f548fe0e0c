import contextlib
import socket

import httpx
import pytest
from prometheus_client import CollectorRegistry

from service.errors import ServerError
from service.health import Health, State
from service.metrics import Metrics
from service.web.app import make_app
from service.web.server import HttpServer


@pytest.fixture
def health():
    return Health()


@pytest.fixture
def client(health):
    app = make_app(Metrics(CollectorRegistry()).registry, health)
    with HttpServer(app, "127.0.0.1:0") as server, httpx.Client(base_url=server.url) as client:
        yield client


def test_metrics_come_as_text_or_as_openmetrics(client):
    plain = client.get("/metrics")
    assert plain.headers["content-type"].startswith("text/plain")
    assert "perceptron_build_info" in plain.text
    openmetrics = client.get("/metrics", headers={"Accept": "application/openmetrics-text; version=1.0.0"})
    assert openmetrics.headers["content-type"].startswith("application/openmetrics-text")
    assert openmetrics.text.endswith("# EOF\n")


@pytest.mark.parametrize(
    ("state", "live", "ready"),
    [
        (State.STARTING, 200, 503),
        (State.READY, 200, 200),
        (State.UNAVAILABLE, 200, 503),
        (State.STOPPED, 503, 503),
    ],
)
def test_the_probes_tell_the_truth(client, health, state, live, ready):
    health.become(state, "why")
    assert client.get("/livez").status_code == live
    answer = client.get("/readyz")
    assert answer.status_code == ready
    assert answer.json() == {"state": state, "reason": "why"}


def test_a_port_that_is_taken_is_a_clear_error(health):
    with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ServerError, match=f"cannot listen on 127.0.0.1:{port}") as error:
            HttpServer(make_app(CollectorRegistry(), health), f"127.0.0.1:{port}")
    assert "--http" in error.value.hint


def test_the_port_is_free_again_afterwards(health):
    app = make_app(CollectorRegistry(), health)
    with HttpServer(app, "127.0.0.1:0") as first:
        address = first.url.removeprefix("http://")
    with HttpServer(app, address) as second:
        assert httpx.get(f"{second.url}/livez").status_code == 200
