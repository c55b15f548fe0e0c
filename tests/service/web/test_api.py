"""Questions to the models that are served, over real HTTP."""

import math

import pytest

from service.messages.schema import Assessment
from service.stream.partitioner import partition_for_key
from tests.service.building import event, label
from tests.service.web.stage import Stage

JSON = {"Content-Type": "application/json"}


class Fragile:
    """A River-like classifier of somebody's own, which fails when it is asked about `boom`."""

    def learn_one(self, x, y): ...

    def predict_proba_one(self, x):
        if "boom" in x:
            raise RuntimeError("out of coal")
        p = math.nan if "fog" in x else sum(x.values()) / 10
        return {True: p, False: 1 - p}


@pytest.fixture(scope="module")
def idle():
    with Stage().served() as client:
        yield client


def test_http_prediction_equals_the_stream_prediction_without_learning():
    stage = Stage(model="coin-betting")
    stage(event("a", "win money", label=True))
    model = stage.feeds[0].model
    before = dict(model.weights), model.bias, model.n_updates
    with stage.served() as client:
        response, explained = (
            client.post(path, json=event("q", "win win")) for path in ("/predict", "/explain")
        )
    assert response.status_code == 200
    told = response.json()
    assert (told.pop("partition"), told.pop("owned")) == (0, True)
    stage(event("q", "win win"))
    (recent, *_), _ = stage.models[0].latest()
    assert told == {name: value for name, value in recent.fields.items() if name in Assessment.model_fields}
    assert told["probability"] == explained.json()["probability"]
    assert (model.weights, model.bias, model.n_updates) == before


@pytest.mark.parametrize("path", ["/predict", "/explain"])
def test_response_has_its_partition_and_ownership(path):
    """This process has two of three partitions: an event of the third is predicted by another's model."""
    ids = [f"event-{number}" for number in range(12)]
    with Stage(partitions=(1, 2)).served() as client:
        owned = {name: client.post(path, json=event(name)).json() for name in ids}
        asked = {name: client.post(path, json=event(name), params={"partition": 1}).json() for name in ids}
    its_own = {name: partition_for_key(name.encode(), 3) for name in ids}
    assert set(its_own.values()) == {0, 1, 2}
    for name, own in its_own.items():
        assert (owned[name]["partition"], owned[name]["owned"]) == ((own, True) if own else (1, False))
        assert (asked[name]["partition"], asked[name]["owned"]) == (1, own == 1)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", "empty"),
        (b"{", "invalid_json"),
        (b"[]", "not_an_object"),
        (b'{"id":"a"}', "missing_field"),
        (b'{"id":"a","text":"x","label":true}', "unknown_field"),
        (b'{"id":"a","text":"x","color":1}', "unknown_field"),
        (b'{"id":"a","features":{"x":1e101}}', "out_of_range"),
        (b'{"id":"a","features":{"x":NaN}}', "not_finite"),
        (b'{"id":"","text":"x"}', "invalid_id"),
        (b'{"id":"a","text":"\\ud800"}', "invalid_json"),
        (b"\xff", "invalid_utf8"),
        (b"[" * 100_000, "too_deep"),
    ],
)
@pytest.mark.parametrize("path", ["/predict", "/explain"])
def test_bad_event_has_the_reason_of_its_dead_letter(idle, path, body, reason):
    response = idle.post(path, content=body, headers=JSON)
    assert response.status_code == 422
    assert response.json()["reason"] == reason
    assert response.json().keys() >= {"what", "where", "hint"}


@pytest.mark.parametrize(
    ("given", "labels"),
    [
        ({}, (True, False)),
        ({"classes": "sky,sea,sand"}, ("sea", "sand")),
        ({"model": "multiclass-perceptron"}, (True, False)),
    ],
    ids=["two classes", "several", "two of a multiclass model"],
)
def test_contributions_and_bias_add_up_to_the_score(given, labels):
    stage = Stage(**given)
    stage(event("a", "wave", label=labels[0]), event("b", "dune", label=labels[1]))
    with stage.served() as client:
        told = client.post("/explain", json=event("q", "wave now", length=2.5)).json()
        shown = {each["name"]: each["weight"] for each in client.get("/model").json()["weights"]}
    assert (told["label"], told["method"]) == (labels[0], "weights")
    assert math.fsum(each["contribution"] for each in told["contributions"]) + told["bias"] == told["score"]
    sizes = [abs(each["contribution"]) for each in told["contributions"]]
    assert sizes == sorted(sizes, reverse=True)
    weights = {each["feature"]: each["weight"] for each in told["contributions"]}
    assert weights.keys() == {"text=wave", "text=now", "length"}
    assert max(weight for name, weight in shown.items() if name.endswith("text=wave")) > 0


def test_http_vector_of_another_length_is_rejected():
    stage = Stage(events={"vectors": "e"})
    with stage.served() as client:
        assert client.post("/predict", json={"id": "a", "e": [1, 2, 3]}).is_success
        stage({"id": "b", "e": [0.5, 1], "label": True})
        rejected = client.post("/predict", json={"id": "a", "e": [1, 2, 3]})
        assert rejected.status_code == 422
        assert "expected 2 numbers as in the first list, got 3" in rejected.text


def test_each_of_several_classes_has_a_bias():
    with Stage(classes="sky,sea,sand").served() as client:
        shown = client.get("/model").json()
    assert shown["classes"] == ["sky", "sea", "sand"] == [*shown["bias"]]


@pytest.mark.parametrize("model", ["kernel-perceptron", "voted-perceptron", f"{__name__}:Fragile"])
def test_model_without_weights_is_explained_by_leaving_out(model, monkeypatch):
    monkeypatch.setattr("service.models.registry._import_factory", lambda _: Fragile)
    stage = Stage(model=model)
    stage(event("a", "", win=1.0, label=True), event("b", "", see=1.0, label=False))
    with stage.served() as client:
        score = client.post("/predict", json=event("q", "", win=3.0)).json()["score"]
        without = client.post("/predict", json=event("q", "")).json()["score"]
        told = client.post("/explain", json=event("q", "", win=3.0)).json()
        assert client.get("/model").json()["weights"] is None
    assert told["method"] == "leaving_out"
    (win,) = told["contributions"]
    assert win["contribution"] == pytest.approx(score - without)
    assert told["bias"] is win["weight"] is None


@pytest.mark.parametrize("feature", ["boom", "fog"])
@pytest.mark.parametrize("path", ["/predict", "/explain"])
def test_failing_user_model_is_a_rejection(monkeypatch, path, feature):
    monkeypatch.setattr("service.models.registry._import_factory", lambda _: Fragile)
    with Stage(model="mine:build").served() as client:
        response = client.post(path, json=event("q", "", **{feature: 1.0}))
    assert (response.status_code, response.json()["reason"]) == (422, "model_error")


def test_model_endpoint_shows_kind_and_weights(stage, client):
    model, told = stage.feeds[0].model, client.get("/model").json()
    assert told["kind"] == "Perceptron"
    assert told["parameters"]["update_on_tie"] is True
    counts = {
        "predictions": 2,
        "labelled": 2,
        "mistakes": model.n_mistakes,
        "updates": model.n_updates,
        "rejected": 0,
        "pending_labels": 0,
    }
    assert told["counts"].items() >= counts.items()
    assert {each["name"]: each["weight"] for each in told["weights"]} == model.weights
    assert (told["weights_nonzero"], told["bias"]) == (len(model.weights), model.bias)
    assert told["weight_norm"] == pytest.approx(math.hypot(*model.weights.values()))
    assert told["bound"]["updates"] is None
    assert "of 100" in told["bound"]["reason"]


def test_mistake_bound_appears_after_100_separated_events(stage, client):
    stage(*(event(f"e-{n}", "win money", label=True) for n in range(120)))
    bound = client.get("/model").json()["bound"]
    assert bound["examples"] >= 100
    assert bound["updates"] == pytest.approx((bound["radius"] / bound["margin"]) ** 2)


def test_top_limits_the_number_of_weights(client):
    assert len(client.get("/model", params={"top": 1}).json()["weights"]) == 1
    assert client.get("/model", params={"top": -1}).status_code == 422


@pytest.mark.parametrize(
    ("method", "path"),
    [("POST", "/predict"), ("POST", "/explain"), ("GET", "/model"), ("POST", "/events"), ("POST", "/labels")],
)
def test_unknown_parameter_is_rejected_by_name(client, method, path):
    response = client.request(method, path, params={"partiton": 0}, json=event("e", label=True))
    assert (response.status_code, response.json()["where"]) == (422, "query partiton")


def test_model_of_the_requested_partition_predicts():
    stage = Stage(partitions=(0, 1, 2))
    for partition in stage.feeds:
        stage(event(f"only-{partition}", f"word{partition}", label=True), partition=partition)
    with stage.served() as client:
        for partition in stage.feeds:
            told = client.get("/model", params={"partition": partition}).json()
            assert [each["name"] for each in told["weights"]] == [f"text=word{partition}"]
        chosen = {client.post("/explain", json=event(f"m-{n}", "x")).json()["partition"] for n in range(20)}
        assert chosen == {0, 1, 2}
        asked = client.post("/explain", params={"partition": 2}, json=event("m-1", "x")).json()
        assert asked["partition"] == 2
        stage.live.close(0)
        assert client.get("/model").json()["partition"] == 1
        missing = client.get("/model", params={"partition": 0})
    assert missing.status_code == 404
    assert "served here: 1, 2" in missing.json()["what"]


def test_response_before_the_first_partition_opens_is_retryable():
    with Stage(partitions=()).served() as client:
        for got in (client.get("/model"), client.get("/state"), client.post("/predict", json=event("a"))):
            assert got.status_code == 503
            assert got.headers["Retry-After"] == "1"
            assert "no partition served" in got.json()["what"]


def test_request_waits_for_a_batch_up_to_a_limit(stage, client, monkeypatch):
    monkeypatch.setattr("service.monitoring.live_models._PATIENCE_SECONDS", 0.1)
    with stage.models[0].learning:
        response = client.post("/predict", json=event("q"))
    assert response.status_code == 503
    assert "max_batch_records" in response.json()["hint"]
    assert client.post("/predict", json=event("q")).status_code == 200


def test_page_gets_curves_events_and_weights(stage, client):
    stage(event("late", "see money"))
    stage(label("late", True), at_seconds=3, topic="labels")
    told = client.get("/state").json()
    assert (told["partition"], told["experts"]) == (0, None)
    assert told["history"]["labelled"] == [0, 1, 2, 3]
    assert told["history"]["error"][0] is None
    assert told["history"]["mistakes"][-1] == stage.feeds[0].counters.mistakes
    outcome, prediction, *_ = told["events"]
    assert outcome["id"] == prediction["id"] == "late"
    assert (outcome["text"], outcome["truth"], outcome["label_delay_seconds"]) == ("see money", True, 3)
    assert outcome["score"] == prediction["score"]
    assert prediction["truth"] is None
    assert told["weights"]
    assert told["lag"] is None


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ({"http": "127.0.0.1:0"}, True),
        ({"http": "0.0.0.0:0"}, False),
        ({"http": "0.0.0.0:0", "http_show_events": "yes"}, True),
        ({"http": "127.0.0.1:0", "http_show_events": "no"}, False),
    ],
)
def test_event_contents_are_shown_on_loopback_or_by_setting(given, shown):
    stage = Stage(**given)
    stage(event("a", "a secret", label=True))
    with stage.served() as client:
        told = client.get("/state").json()
    assert told["shows_events"] is shown
    assert [each["text"] for each in told["events"]] == (["a secret"] if shown else [])


MAPPED = {"id": "meta.number", "text": "mail.body", "label": "verdict == 'spam'", "timestamp": "meta.at"}


def mapped(number, body):
    return {"meta": {"number": number, "at": 1}, "mail": {"body": body}, "verdict": "spam"}


def test_mapped_request_has_the_form_of_its_topic():
    stage = Stage(events=MAPPED)
    stage(mapped(1, "win"), mapped(2, "win"))
    with stage.served() as client:
        response = client.post("/predict", json={"meta": {"number": 7}, "mail": {"body": "win"}})
        labelled = client.post("/explain", json=mapped(7, "win"))
        rejected = client.post("/predict", json={"mail": {"body": "win"}})
        ahead = {"meta": {"number": 7, "at": 9e9}, "mail": {"body": "win"}}
        problems = [client.post(path, json=ahead).json() for path in ("/predict", "/explain")]
    assert [each.get("reason") for each in problems] == ["event_time_out_of_range"] * 2
    assert (response.json()["id"], response.json()["label"]) == ("7", True)
    assert labelled.status_code == 200  # its label is not read
    assert (rejected.status_code, rejected.json()["reason"]) == (422, "missing_field")
    assert "meta.number (events.id)" in rejected.text


def test_request_without_an_id_gets_one():
    with Stage(events={"id": "@key", "text": "body"}).served() as client:
        assert len(client.post("/predict", json={"body": "win"}).json()["id"]) == 32


def test_text_service_takes_requests_in_the_native_schema():
    with Stage(events={"format": "text", "id": "@key"}).served() as client:
        assert client.post("/predict", json=event("q", "win")).json()["id"] == "q"


@pytest.mark.parametrize(("given", "is_native"), [({}, True), ({"events": MAPPED}, False)])
def test_openapi_describes_the_request_body(given, is_native):
    with Stage(**given).served() as client:
        document = client.get("/openapi.json").json()
    schema = document["paths"]["/predict"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert ("features" in schema.get("properties", {})) is is_native


@pytest.mark.parametrize("path", ["/explain", "/predict"])
def test_mapped_service_accepts_native_requests_on_demand(path):
    with Stage(events=MAPPED).served() as client:
        response = client.post(f"{path}?fields=native", json=event("q", "win", n=2.0))
        assert (response.status_code, response.json()["id"]) == (200, "q")
        assert client.post(f"{path}?fields=theirs", json=event("q", "win")).status_code == 422


def test_decisions_are_described_with_a_row_for_each_threshold():
    stage = Stage(decisions=[{"name": "act", "threshold": 0.5}])
    for n in range(20):
        stage(event(f"e{n}", x=1 if n % 2 else -1, label=n % 2 == 1), at_seconds=3600 * n)
    with stage.served() as client:
        told = client.get("/decisions").json()
    (act,), rows = told["decisions"], told["thresholds"]
    assert (act["name"], act["class"], act["threshold"], act["precision"]) == ("act", True, 0.5, 1.0)
    assert [row["threshold"] for row in rows] == sorted(row["threshold"] for row in rows)
    assert rows[0]["recall"] == 1.0
    assert rows[0]["decided_per_day"] > rows[-1]["decided_per_day"] > 0
    assert act["goal"] == "threshold = 0.5"
    assert act["undecided"] is None


def test_request_is_decided_as_in_the_stream_without_budget():
    costs = {"false_positive": 11, "false_negative": 10}
    stage = Stage(model="normalized-adagrad", decisions=[{"name": "look", "max_rate": "1/day"}], costs=costs)
    for n in range(20):
        stage(event(f"e{n}", x=2 * (n % 2) - 1, label=n % 2 == 1))
    with stage.served() as client:
        before = client.get("/decisions").json()
        for path in ("/predict", "/predict", "/explain"):
            assert client.post(path, json=event("q", x=1)).json()["decision"] == "look"
        assert client.post("/predict", json=event("q", x=-1)).json()["decision"] is None
        assert client.get("/decisions").json() == before
    assert before["decisions"][0]["exhausted"]
    assert before["decisions"][0]["goal"] == "max_rate = 1/day"
