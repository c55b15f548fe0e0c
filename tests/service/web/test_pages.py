"""The pages, the endpoints for monitoring, and errors: each is JSON that says what, where and what to do."""

import re

import pytest

from service.monitoring.health import State
from service.web.app import FOLDER
from service.web.guard import STATIC
from tests.service.web.stage import Stage

OURS = sorted(path for path in FOLDER.iterdir() if path.suffix in {".html", ".css", ".js", ".svg"})
NAMES_OF_NO_HOST = {"http://www.w3.org/2000/svg", "https://github.com/leeoniya/uPlot"}
"""The name of a vocabulary, and where the licence says that the program is from; nothing is fetched."""


@pytest.mark.parametrize("path", OURS, ids=lambda path: path.name)
def test_page_files_have_no_other_host_or_inline_script(path):
    text = path.read_text(encoding="utf-8")
    assert set(re.findall(r"(?:https?:)?//[\w.-]+\.[a-z]+[\w./-]*", text)) <= NAMES_OF_NO_HOST
    if path.suffix == ".html":
        assert not re.search(r"<script>|<style|\sstyle=|\son\w+=", text)


def test_every_file_that_pages_refer_to_exists(client):
    for path in OURS:
        text = path.read_text(encoding="utf-8")
        addresses = re.findall(r'(?:src|href)="(/[^"]*)"', text) if path.suffix == ".html" else []
        for address in [*addresses, *(STATIC + name for name in re.findall(r'from "\./([\w.]+)"', text))]:
            assert client.get(address).status_code == 200, address


def test_chart_library_comes_with_its_licence():
    assert "MIT License" in (FOLDER / "uPlot.LICENSE").read_text(encoding="utf-8")
    assert "v1.6.32" in (FOLDER / "uPlot.min.js").read_text(encoding="utf-8")[:100]


PROMETHEUS = (
    "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,"
    "application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.3,"
    "text/plain;version=0.0.4;q=0.2,*/*;q=0.1"
)


@pytest.mark.parametrize(
    ("accept", "is_openmetrics"),
    [
        (PROMETHEUS, True),
        ("application/openmetrics-text", True),
        ("application/openmetrics-text; version=1.0.0; escaping=odd", True),
        ('Application/OpenMetrics-Text; version="abc"', True),
        ("text/plain; version=abc", False),
        ("*/*", False),
        (",;=;,q", False),
        ("", False),
        ("\xff" * 5000, False),
    ],
)
def test_metrics_have_one_of_two_formats_for_any_accept(client, accept, is_openmetrics):
    response = client.get("/metrics", headers={"Accept": accept.encode("latin-1")})
    assert response.status_code == 200
    assert response.text.endswith("# EOF\n") == is_openmetrics
    assert "perceptron_build_info" in response.text
    form = "application/openmetrics-text; version=1.0.0" if is_openmetrics else "text/plain; version="
    assert response.headers["content-type"].startswith(form)


@pytest.mark.parametrize(
    ("state", "live", "ready"),
    [
        (State.STARTING, 200, 503),
        (State.READY, 200, 200),
        (State.UNAVAILABLE, 200, 503),
        (State.STOPPED, 503, 503),
    ],
)
def test_probes_follow_the_state_of_health(stage, client, state, live, ready):
    stage.health.become(state, "why")
    assert client.get("/livez").status_code == live
    response = client.get("/readyz")
    assert response.status_code == ready
    assert response.json() == {"state": state, "reason": "why"}


@pytest.mark.parametrize(
    ("method", "path", "status", "where"),
    [
        ("GET", "/nowhere", 404, "GET /nowhere"),
        ("GET", f"{STATIC}nothing.js", 404, f"GET {STATIC}nothing.js"),
        ("GET", f"{STATIC}../app.py", 404, "GET /app.py"),
        ("GET", f"{STATIC}%2e%2e/app.py", 404, f"GET {STATIC}../app.py"),
        ("DELETE", "/model", 405, "DELETE /model"),
        ("GET", "/predict", 405, "GET /predict"),
        ("GET", "/explain", 405, "GET /explain"),
        ("GET", "/model?partition=x", 422, "query partition"),
        ("GET", "/model?partition=0.5", 422, "query partition"),
        ("GET", "/model?top=1001", 422, "query top"),
        ("GET", "/model?partition=99999999999", 422, "query partition"),
        ("GET", "/model?partition=7", 404, "partition"),
    ],
)
def test_invalid_request_gets_reason_location_and_hint(client, method, path, status, where):
    response = client.request(method, path)
    assert response.status_code == status
    problem = response.json()
    assert problem["where"] == where
    assert problem["what"]
    assert problem["hint"]


def test_unexpected_error_returns_500(monkeypatch, caplog):
    stage = Stage()
    monkeypatch.setattr(stage.live, "get", lambda *_: 1 / 0)
    with stage.served() as client:
        response = client.get("/model")
    assert response.status_code == 500
    assert response.json()["what"] == "the service failed: ZeroDivisionError"
    assert "ZeroDivisionError" in caplog.text
