"""What the page shows: a partition, and a row for each partition that is served."""

import pytest

from tests.service.building import event
from tests.service.web.stage import Stage


@pytest.fixture
def stage():
    stage = Stage(partitions=(0, 1), model="coin-betting")
    stage(event("a", "win", label=True), event("b", "see", label=False), partition=0)
    stage(event("c", "win", label=True), event("d", "see"), partition=1)
    return stage


def test_state_shows_chosen_partition_and_lists_all(stage):
    with stage.served() as client:
        shown = [client.get("/state", params=each).json() for each in ({}, {"partition": 1})]
        assert client.get("/state", params={"partition": "all"}).status_code == 422
    assert [each["partition"] for each in shown] == [0, 1]
    assert [each["counts"]["predictions"] for each in shown] == [2, 2]
    assert [[row["partition"] for row in each["partitions"]] for each in shown] == [[0, 1], [0, 1]]


def test_row_shows_the_state_of_a_partition(stage):
    stage.metrics.lag = {("events", 0): 3, ("labels", 0): 1}
    with stage.served() as client:
        first, second = client.get("/state").json()["partitions"]
    counters = stage.feeds[0].counters
    assert (first["partition"], first["counts"]["predictions"]) == (0, 2)
    assert first["error"] == counters.error_ratio()
    assert first["auc"] == counters.score_bins.pairs().auc()
    assert first["log_loss"] == pytest.approx(counters.calibration.log_loss())
    assert second["auc"] is None  # no label of the other class
    assert (first["lag"], second["lag"]) == (4, None)


def test_page_gets_all_labelled_scores_in_bins():
    stage = Stage(model="coin-betting")
    for n in range(40):
        stage(event(f"e-{n}", f"win w{n % 3}" if n % 3 else "see", label=n % 2 == 0))
    with stage.served() as client:
        bins = client.get("/state").json()["quality"]["score_bins"]
    counted = stage.feeds[0].counters.score_bins
    assert sum(positives for _, positives, _ in bins) == counted.positives.total()
    assert sum(negatives for *_, negatives in bins) == counted.negatives.total()
    assert [least for least, *_ in bins] == sorted(least for least, *_ in bins)


def test_classes_beyond_the_largest_thirty_are_merged():
    names = [f"c{n}" for n in range(40)]
    stage = Stage(classes=",".join(names))
    for name in names:
        stage(event(name, "x", label=name))
    with stage.served() as client:
        cells = client.get("/state").json()["quality"]["cells"]
    assert sum(count for truth, _, count in cells if truth is None) == 10
    assert sum(count for *_, count in cells) == 40


@pytest.mark.parametrize(
    ("given", "offered"),
    [
        ({}, True),
        ({"http": "0.0.0.0:0"}, False),
        ({"http": "0.0.0.0:0", "http_hosts": "127.0.0.1"}, True),
        ({"events": {"label_on_timeout": "false"}}, True),
        ({"events": {"unknown_fields": "ignore"}, "labels": {"unknown_fields": "ignore"}}, True),
        ({"events": {"unknown_fields": "ignore"}, "labels_topic": ""}, False),
        ({"events": {"id": "order.id"}}, False),
        ({"labels": {"label": "verdict"}}, False),
        ({"events": {"id": "@key", "format": "text"}}, False),
    ],
)
def test_page_offers_labelling_if_native_posts_are_accepted(given, offered):
    with Stage(**given).served() as client:
        told = client.get("/state").json()
        responses = [
            client.post("/events", json={"id": "typed", "text": "win", "features": {}}).status_code,
            client.post("/labels", json={"id": "typed", "label": True}).status_code,
        ]
    assert told["teaches"] is offered is (responses == [200, 200])


def test_model_worse_than_the_majority_class_gives_a_hint():
    stage = Stage(model="perceptron")
    for n in range(120):
        stage(event(f"e-{n}", "see", label=n % 4 == 0))
    with stage.served() as client:
        told = client.get("/state").json()["data_warning"]
    assert told.startswith(
        "31 mistakes in 120 labels, but always predicting 'false' makes only 30: try --model auto"
    )
