"""POST /events and POST /labels: what is appended, returned and rejected."""

import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from service.monitoring.health import State
from service.stream.partitioner import partition_for_key
from tests.service.building import event, label
from tests.service.web.stage import Stage
from tests.support.rejecting_learner import RejectingLearner

NDJSON = {"Content-Type": "application/x-ndjson"}
IDS = [f"event-{number}" for number in range(20)]


@pytest.fixture
def stage():
    return Stage()


@pytest.fixture
def client(stage):
    with stage.served() as opened:
        yield opened


def test_posted_event_returns_its_committed_prediction(stage, client):
    response = client.post("/events", json=event("a", "win"))
    assert response.status_code == 200
    assert response.json() == {**stage.models[0].latest()[0][0].fields, "partition": 0, "repeated": False}
    (appended,) = stage.appended
    assert (appended.topic, appended.key, json.loads(appended.value)) == ("events", b"a", event("a", "win"))


def test_label_is_appended_and_learned(stage, client):
    client.post("/events", json=event("a", "win"))
    response = client.post("/labels", json=label("a", value=True))
    assert response.json() == {"id": "a", "topic": "labels", "partition": 0, "repeated": False}
    assert stage.feeds[0].counters.labels["matched"] == 1


def test_repeated_request_is_appended_once_with_the_same_response(stage, client):
    first = [
        client.post("/events", json=event("a", "win")),
        client.post("/labels", json=label("a", value=True)),
    ]
    again = [
        client.post("/events", json=event("a", "win")),
        client.post("/labels", json=label("a", value=True)),
    ]
    assert len(stage.appended) == 2
    for one, other in zip(first, again, strict=True):
        assert other.status_code == 200
        assert other.json().items() <= one.json().items() | {("repeated", True)}
        assert other.json()["repeated"]


def test_concurrent_requests_of_one_id_are_appended_once(stage, client):
    with ThreadPoolExecutor(8) as threads:
        responses = [threads.submit(client.post, "/events", json=event("a")) for _ in range(40)]
    assert {response.result().status_code for response in responses} == {200}
    assert len(stage.appended) == 1
    assert sum(not response.result().json()["repeated"] for response in responses) == 1


def test_late_prediction_gets_202(stage, client):
    stage.holds_back = True
    response = client.post("/events", params={"wait_seconds": 0.01}, json=event("a"))
    assert response.status_code == 202
    assert response.json() == {"id": "a", "topic": "events", "partition": 0, "repeated": False}


def test_event_of_40_kb_is_accepted(client):
    assert client.post("/events", json=event("a", "win " * 10_000)).status_code == 200


@pytest.mark.parametrize(
    ("path", "body", "where", "reason"),
    [
        ("/events", label("a", value=True), "event", "missing_field"),
        ("/events", event("a", label="maybe"), "event", "unknown_label"),
        ("/labels", event("a", label=True), "label", "unknown_field"),
        ("/labels", {"id": "a"}, "label", "missing_field"),
    ],
)
def test_future_dead_letter_is_rejected_with_its_reason(stage, client, path, body, where, reason):
    response = client.post(path, json=body)
    assert response.status_code == 422
    assert (response.json()["where"], response.json()["reason"]) == (where, reason)
    assert f"perceptron schema {where}" in response.json()["hint"]
    assert stage.appended == []


@pytest.mark.parametrize(("path", "message"), [("/labels", label("a", value=True)), ("/events", event("a"))])
def test_weight_is_rejected_where_the_model_takes_none(path, message):
    stage = Stage(model="river.naive_bayes:BernoulliNB", checkpoint_key="k")
    with stage.served() as client:
        alone = client.post(path, json=message | {"weight": 2})
        lines = client.post(path, content=json.dumps(message | {"weight": 2}) + "\n", headers=NDJSON)
    for response in (alone, lines):
        assert (response.status_code, response.json()["reason"]) == (422, "model_error")
    assert "does not support example weights" in alone.json()["what"]
    assert stage.appended == []


def test_event_that_the_model_rejects_has_the_dead_letters_reason(stage, client):
    stage.feeds[0].processor.learner = RejectingLearner(stage.feeds[0].processor.learner, "assess")
    response = client.post("/events", json=event("a"))
    assert response.status_code == 422
    assert (response.json()["reason"], response.json()["what"]) == ("out_of_range", "too much")
    assert "dead letter" in response.json()["hint"]


@pytest.mark.parametrize("path", ["/events", "/labels"])
def test_another_media_type_is_rejected(stage, client, path):
    """So no page of another origin can teach the model through a browser that reaches it."""
    for media_type in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
        response = client.post(
            path, content=b'{"id": "a", "label": true}', headers={"content-type": media_type}
        )
        assert response.status_code == 415
    assert stage.appended == []


@pytest.mark.parametrize("behind", ["records that are not consumed", "submissions that are not processed"])
def test_request_beyond_the_largest_lag_gets_429(behind):
    stage = Stage(http_max_lag=3)
    with stage.served() as client:
        if behind == "records that are not consumed":
            stage.metrics.lag = {("events", 0): 2, ("labels", 0): 1, ("events", 1): 100}
        else:
            stage.holds_back = True
            for name in "xyz":
                client.post("/labels", json=label(name, value=True))
        response = client.post("/labels", json=label("a", value=True))
        assert response.status_code == 429
        assert response.headers["retry-after"] == "1"
        assert "http_max_lag" in response.json()["hint"]


def test_lag_of_another_partition_is_ignored():
    stage = Stage(http_max_lag=3)
    stage.metrics.lag = {("events", 1): 100}
    with stage.served() as client:
        assert client.post("/labels", json=label("a", value=True)).status_code == 200


def test_partition_owned_elsewhere_is_named():
    stage = Stage(partitions=(1,))
    name = next(name for name in IDS if partition_for_key(name.encode(), 2) == 0)
    with stage.served() as client:
        response = client.post("/labels", json=label(name, value=True))
        assert (response.status_code, response.json()["partition"]) == (421, 0)
        assert response.json()["hint"].startswith("send it to another process of the group")
        stage.health.become(State.STARTING, "not yet")
        response = client.post("/labels", json=label(name, value=True))
        assert (response.status_code, response.headers["retry-after"]) == (503, "1")


def test_idle_process_returns_503(stage, client):
    for partition in list(stage.live.intakes):
        stage.live.close(partition)
    response = client.post("/labels", json=label("a", value=True))
    assert (response.status_code, response.json()["what"]) == (503, "this process owns no partition")


def test_failed_append_is_retryable(stage, client):
    stage.fails = True
    response = client.post("/labels", json=label("a", value=True))
    assert (response.status_code, response.headers["retry-after"]) == (503, "1")
    assert "send it again" in response.json()["hint"]
    stage.fails = False
    responses = []
    asking = threading.Thread(
        target=lambda: responses.append(client.post("/labels", json=label("a", value=True)))
    )
    asking.start()
    while not stage.live.intakes[0].wants_writer:
        time.sleep(0.001)
    stage.open_intake(0)
    asking.join()
    assert responses[0].json()["repeated"] is False


def test_hanging_append_gets_a_response_in_time(stage, client, monkeypatch):
    monkeypatch.setattr("service.web.inputs._PATIENCE_SECONDS", 0.01)
    stage.live.open(0, stage.feeds[0].processor)  # no one makes its writer
    response = client.post("/labels", json=label("a", value=True))
    assert response.status_code == 503
    assert "it was not appended within" in response.json()["what"]


def test_record_too_large_for_its_topic_gets_413(client):
    assert client.post("/labels", params={"key": "k" * 256}, json=label("a", value=True)).status_code == 200
    assert client.post("/labels", params={"key": "k" * 257}, json=label("a", value=True)).status_code == 422


def test_key_chooses_the_partition():
    stage = Stage(partitions=(0, 1))
    with stage.served() as client:
        for key in IDS:
            response = client.post("/labels", params={"key": key}, json=label(f"of-{key}", value=True)).json()
            assert response["partition"] == partition_for_key(key.encode(), 2)
    assert [output.key.decode() for output in stage.appended] == IDS


def test_openapi_names_the_accepted_labels():
    with Stage(classes=("ham", "spam")).served() as client:
        paths = client.get("/openapi.json").json()["paths"]
    content = paths["/labels"]["post"]["requestBody"]["content"]["application/json"]
    assert content["schema"]["properties"]["label"]["enum"] == [True, False, -1, "ham", "spam", 1, 0]


def test_records_of_another_schema_are_appended_unchanged():
    stage = Stage(events={"id": "uuid", "text": ["body"]})
    with stage.served() as client:
        assert client.post("/events", json={"uuid": 17, "body": "win"}).json()["id"] == "17"
        described = client.get("/openapi.json").json()["paths"]["/events"]["post"]["requestBody"]["content"]
    assert "events.*" in described["application/json"]["schema"]["description"]
    assert stage.appended[0].value == b'{"uuid":17,"body":"win"}'


@pytest.mark.parametrize(
    ("given", "what", "hint"),
    [
        ({"format": "text", "id": "@key"}, "events.format is text", "to the topic"),
        ({"format": "avro"}, "events.format is avro", "to the topic"),
        ({}, "expected the content type application/json", "Content-Type: application/json"),
    ],
)
def test_body_in_another_form_gives_a_specific_hint(given, what, hint):
    with Stage(events=given).served() as client:
        headers = NDJSON if given else {"content-type": "text/html"}
        said = client.post("/events", content=b"x", headers=headers).json()
    assert (what in said["what"], hint in said["hint"]) == (True, True)
