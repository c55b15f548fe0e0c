"""The direct form of an endpoint answers as FastAPI's does, to the byte, and as is declared."""

import asyncio
import json

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from service.web.app import make_app
from service.web.direct import Direct
from service.web.responses import Appended, CommittedPrediction, Explanation, LivePrediction
from tests.service.building import event, label
from tests.service.poison import POISON
from tests.service.web.stage import Stage
from tests.support.example_counts import n_examples

JSON = b"application/json"
FEW = st.sampled_from
NUMBERS = st.floats(-9, 9) | st.integers(-3, 3) | FEW([1e99, 1e101, 2**70, 1e-7, -0.0])
EVENTS = st.fixed_dictionaries(
    {"id": FEW(["a", "b", "é", "", "i" * 256, "i" * 257, 7])},
    optional={
        "features": st.dictionaries(FEW(["f", "g", "win"]), NUMBERS | st.booleans() | FEW(["en", "ö"])),
        "text": FEW(["", "win", "win a prize", "ö" * 20, "x" * 20_000]) | st.none(),
        "label": FEW([True, 0, -1, "spam", None]),
        "color": st.just(1),
    },
)
BODIES = (
    EVENTS.map(lambda message: json.dumps(message).encode())
    | FEW([value or b"" for value, _ in POISON.values()])
    | st.binary(max_size=20)
)
HEADERS = FEW(
    [
        [(b"content-type", JSON)],
        [(b"content-type", JSON)],
        [(b"content-type", JSON)],
        [(b"content-type", JSON + b"; charset=utf-8")],
        [(b"content-type", JSON + b"; charset=latin-1")],
        [(b"content-type", JSON), (b"content-type", b"text/plain")],
        [(b"content-type", JSON), (b"content-encoding", b"gzip")],
        [(b"content-type", b"text/plain")],
        [],
    ]
)
QUERIES = FEW(
    [
        *[
            b"",
            b"",
            b"partition=0",
            b"partition=00",
            b"partition=7",
            b"partition=",
            b"partition=0&partition=1",
        ],
        *[b"fields=own", b"fields=none", b"partition=0&fields=topic", b"other=1", b"key", b"=&"],
        *[b"key=a", b"key=", b"key=%ff", b"key=a+b", b"key=" + b"k" * 257, b"key=" + b"k" * 2000],
        *[b"wait_seconds=0.0", b"wait_seconds=1e-3", b"wait_seconds=nan", b"wait_seconds=61"],
    ]
)
MODELS = {
    "/predict": LivePrediction,
    "/explain": Explanation,
    "/events": CommittedPrediction,  # which is never there in time
    "/labels": Appended,
}


def answer_of(app, path, query, headers, body):
    """Ask an application without a server; return status, headers and body."""
    sent = []

    async def receive():
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message):
        sent.append(message)

    scope = {"type": "http", "method": "POST", "path": path, "raw_path": path.encode(), "query_string": query}
    scope |= {"headers": [(b"host", b"localhost"), *headers], "http_version": "1.1", "scheme": "http"}
    asyncio.run(app(scope, receive, send))
    return sent[0]["status"], sent[0]["headers"], b"".join(each["body"] for each in sent[1:])


@pytest.fixture(scope="module")
def forms():
    """Two services with the same past, one without direct routes; what is appended stays on its way."""
    return [served(has_direct_routes, holds_back=True) for has_direct_routes in (True, False)]


def served(has_direct_routes, *, holds_back=False):
    stage = Stage(partitions=(0, 1))
    for message in (event("p", "win", f=1.5, label=True), event("q", "lose", g=-0.1, label=False)):
        stage(message, partition=0)
        stage(message, partition=1)
    stage.holds_back = holds_back
    app = make_app(stage.settings, stage.health, stage.metrics, stage.live)
    if not has_direct_routes:
        app.user_middleware = [each for each in app.user_middleware if each.cls is not Direct]
    return app


@settings(max_examples=n_examples(300), deadline=None)
@given(FEW(sorted(MODELS)), QUERIES, HEADERS, BODIES)
@example("/predict", b"", [(b"content-type", JSON)], json.dumps(event("a", "win", f=1e-7)).encode())
@example("/explain", b"", [(b"content-type", JSON)], json.dumps(event("a", "win", f=2)).encode())
@example("/events", b"wait_seconds=0", [(b"content-type", JSON)], json.dumps(event("n", "win")).encode())
@example("/labels", b"key=", [(b"content-type", JSON)], json.dumps(label("n", value=True)).encode())
@example("/labels", b"key=%ff", [(b"content-type", JSON)], json.dumps(label("m", value=True)).encode())
@example("/labels", b"key=a&key=b", [(b"content-type", JSON)], json.dumps(label("l", value=True)).encode())
@example("/labels", b"key=k", [(b"content-type", JSON)], json.dumps(label("n", value=True)).encode())
def test_the_direct_form_answers_as_fastapi_does_and_as_declared(forms, path, query, headers, body):
    if path == "/events" and b"wait" not in query:
        query = b"&".join(filter(None, [query, b"wait_seconds=0"]))
    mine, its = [answer_of(app, path, query, headers, body) for app in forms]
    assert mine == its
    if mine[0] == 200:
        declared = MODELS[path].model_validate_json(mine[2])
        assert declared.model_dump_json().encode() == mine[2]


def test_an_event_is_answered_as_its_prediction_is_declared():
    body = json.dumps(event("a", "win", label=True)).encode()
    status, _, answer = answer_of(
        served(has_direct_routes=True), "/events", b"", [(b"content-type", JSON)], body
    )
    assert status == 200
    assert CommittedPrediction.model_validate_json(answer).model_dump_json().encode() == answer


def test_a_common_request_does_not_reach_fastapi(forms, monkeypatch):
    app = forms[0]
    monkeypatch.setattr(app.router, "middleware_stack", None)
    answer = answer_of(app, "/predict", b"partition=0", [(b"content-type", JSON)], b'{"id":"a","text":"win"}')
    assert answer[0] == 200
