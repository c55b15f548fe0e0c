"""Whatever is posted, the response is what the OpenAPI document declares."""

import asyncio
import json
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from service.web.app import make_app
from service.web.responses import Appended, CommittedPrediction, Explanation, LivePrediction, Problem
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
        *[b"", b"partition=0", b"partition=00", b"partition=7", b"partition=", b"partition=0&partition=1"],
        *[b"fields=native", b"fields=none", b"partition=0&fields=topic", b"other=1", b"key", b"=&", b"%ff"],
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


@pytest.fixture(scope="module")
def app():
    """A service with a past, where what is appended stays on its way."""
    stage = Stage(partitions=(0, 1))
    for partition in (0, 1):
        stage(event("p", "win", f=1.5, label=True), event("q", "lose", g=-0.1), partition=partition)
    stage.holds_back = True
    return make_app(stage.settings, stage.health, stage.metrics, stage.live)


def response_of(app, path, query, headers, body):
    """Ask an application without a server; return status and body."""
    sent = []

    async def receive():
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message):
        sent.append(message)

    scope = {"type": "http", "method": "POST", "path": path, "raw_path": path.encode(), "query_string": query}
    scope |= {"headers": [(b"host", b"localhost"), *headers], "http_version": "1.1", "scheme": "http"}
    asyncio.run(app(scope, receive, send))
    return sent[0]["status"], b"".join(each["body"] for each in sent[1:])


@settings(max_examples=n_examples(300), deadline=None)
@given(FEW(sorted(MODELS)), QUERIES, HEADERS, BODIES)
@example("/predict", b"", [(b"content-type", JSON)], json.dumps(event("a", "win", f=1e-7)).encode())
@example("/explain", b"", [(b"content-type", JSON)], json.dumps(event("a", "win", f=2)).encode())
@example("/events", b"wait_seconds=0", [(b"content-type", JSON)], json.dumps(event("n", "win")).encode())
@example("/labels", b"key=k", [(b"content-type", JSON)], json.dumps(label("n", value=True)).encode())
def test_any_post_has_a_declared_response_or_a_problem(app, path, query, headers, body):
    if path == "/events" and b"wait" not in query:
        query = b"&".join(filter(None, [query, b"wait_seconds=0"]))
    status, response = response_of(app, path, query, headers, body)
    assert status in {200, 202, 409, 413, 415, 422, 404}
    declared = {200: MODELS[path], 202: Appended}.get(status, Problem).model_validate_json(response)
    assert json.loads(declared.model_dump_json(exclude_none=status > 202)) == json.loads(response)


@pytest.mark.parametrize("path", ["/events", "/labels"])
@pytest.mark.parametrize("key", [b"%ff", b"\xff"], ids=["escaped", "raw"])
def test_key_that_is_not_utf_8_is_rejected(app, path, key):
    body = json.dumps(event("n", "win", label=True)).encode()
    status, response = response_of(app, path, b"key=" + key, [(b"content-type", JSON)], body)
    problem = json.loads(response)
    assert (status, problem.get("where"), problem["what"]) == (422, "query key", "expected text in UTF-8")


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ([(b"content-type", JSON + b"; charset=latin-1")], 200),  # JSON is UTF-8, whatever this says
        ([(b"content-type", JSON), (b"content-encoding", b"br")], 415),
        ([(b"content-type", JSON), (b"content-encoding", b"identity"), (b"content-encoding", b"br")], 415),
        ([], 415),
    ],
)
def test_body_is_json_and_not_compressed(app, headers, status):
    assert response_of(app, "/predict", b"fields=native", headers, b'{"id":"a","text":"win"}')[0] == status


def test_response_to_an_event_has_the_declared_fields(stage, client):
    response = client.post("/events", json=event("n", "win", label=True))
    assert response.status_code == 200
    assert CommittedPrediction.model_validate_json(response.content).model_dump_json() == response.text


MAIL = Path(__file__).with_name("mail.eml").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def taught():
    stage = Stage()
    stage(event("a", "win money", label=True))
    stage(event("b", "friend", label=False))
    with stage.served() as client:
        yield client


def test_mail_is_predicted_from_its_subject_and_text(taught):
    response = taught.post("/predict", content=MAIL, headers={"Content-Type": "message/rfc822"})
    assert response.json() == taught.post("/predict", json=event("-", "Wín money\nnow friend")).json()


@given(mail=st.binary(max_size=300))
def test_any_bytes_sent_as_a_mail_get_a_response(taught, mail):
    response = taught.post("/predict", content=mail, headers={"Content-Type": "message/rfc822"})
    assert response.status_code == 200
