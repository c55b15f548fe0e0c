"""Every error is JSON that says what, where and what to do."""

import pytest

from service.web.page import STATIC
from tests.service.web.stage import Stage


@pytest.fixture(scope="module")
def client():
    with Stage().served() as client:
        yield client


@pytest.mark.parametrize(
    ("method", "path", "status", "where"),
    [
        ("GET", "/nowhere", 404, "GET /nowhere"),
        ("GET", f"{STATIC}nothing.js", 404, f"GET {STATIC}nothing.js"),
        ("GET", f"{STATIC}../app.py", 404, "GET /app.py"),
        ("GET", f"{STATIC}%2e%2e/app.py", 404, f"GET {STATIC}../app.py"),
        ("DELETE", "/model", 405, "DELETE /model"),
        ("GET", "/predict", 422, "query text"),
        ("GET", "/explain", 405, "GET /explain"),
        ("GET", "/model?partition=x", 422, "query partition"),
        ("GET", "/model?partition=0.0", 422, "query partition"),
        ("GET", "/state?partition=%200", 422, "query partition"),
        ("GET", "/model?top=1_0", 422, "query top"),
        ("GET", "/model?partition=99999999999", 422, "query partition"),
        ("GET", "/model?partition=7", 404, "partition"),
    ],
)
def test_a_wrong_request_is_told_what_where_and_what_to_do(client, method, path, status, where):
    answer = client.request(method, path)
    assert answer.status_code == status
    problem = answer.json()
    assert problem["where"] == where
    assert problem["what"]
    assert problem["hint"]


def test_an_accident_is_an_answer_too(monkeypatch, caplog):
    stage = Stage()
    monkeypatch.setattr(stage.live, "get", lambda *_: 1 / 0)
    with stage.served() as client:
        answer = client.get("/model")
    assert answer.status_code == 500
    assert answer.json()["what"] == "the service failed: ZeroDivisionError"
    assert "ZeroDivisionError" in caplog.text
