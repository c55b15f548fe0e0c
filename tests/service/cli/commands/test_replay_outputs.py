"""`replay` writes predictions, shows the most confident mistakes, and finds thresholds."""

import json
from functools import partial
from pathlib import Path

import pytest

from tests.support.reference_streams import phishing_events

PAGES = b"".join(event + b"\n" for event in phishing_events())
LATE = b"""{"id":"a","text":"win"}
{"id":"b","text":"hi"}
{"id":"a","label":true}
{"id":"b","label":false}
{"id":"c","text":"win"}
"""
FIGURES = ("mistakes", "updates", "auc", "confusion", "classes", "baselines")


@pytest.fixture
def replay(summary):
    return partial(summary, "replay", "-", stdin=PAGES)


def as_ndjson(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_each_prediction_is_written_with_its_truth(replay):
    summary = replay("--model", "normalized-adagrad", "--predictions", "out.ndjson")
    rows = as_ndjson(Path("out.ndjson"))
    assert [str(row["id"]) for row in rows] == [json.loads(event)["id"] for event in phishing_events()]
    assert sum(row["mistake"] for row in rows) == summary["mistakes"]
    for row in rows:
        assert row["mistake"] == (row["label"] != row["truth"])
        assert (row["score"] > 0) == row["label"]
        assert 0.5 <= row["probability"] <= 1


def test_late_label_is_written_as_an_outcome(replay):
    replay("--predictions", "out.ndjson", stdin=LATE)
    rows = [(row["id"], row.get("predicted"), row.get("mistake")) for row in as_ndjson(Path("out.ndjson"))]
    assert [row for row in rows if row[1] is not None] == [("a", False, True), ("b", False, False)]
    assert [row[0] for row in rows if row[1] is None] == ["a", "b", "c"]


def test_mapped_event_time_is_written(replay):
    timed = b'{"id": "a", "at": 1772323210, "n": 1, "label": true}\n'
    mapped = ("--events-id", "id", "--events-timestamp", "at", "--events-features", "n")
    replay(*mapped, "--events-label", "label", "--predictions", "out.ndjson", stdin=timed)
    assert [row["event_time_ms"] for row in as_ndjson(Path("out.ndjson"))] == [1772323210000]


@pytest.mark.parametrize("model", ["arow", "auto", "multiclass-arow"])
def test_errors_option_does_not_change_replay_results(replay, model):
    plain, explained = replay("--model", model), replay("--model", model, "--errors", "5")
    assert {name: plain.get(name) for name in FIGURES} == {name: explained.get(name) for name in FIGURES}


def test_most_confident_mistakes_have_the_largest_scores(replay):
    errors = replay("--errors", "7", "--predictions", "out.ndjson")["errors"]
    wrong = [row for row in as_ndjson(Path("out.ndjson")) if row["mistake"]]
    largest = sorted((abs(row["score"]) for row in wrong), reverse=True)[:7]
    assert [abs(each["score"]) for each in errors] == largest
    assert all(each["truth"] != each["predicted"] for each in errors)


@pytest.mark.parametrize("model", ["perceptron", "auto"])
def test_mistake_is_explained_by_the_model_before_learning(replay, model):
    lines = b"".join(
        json.dumps({"id": str(n), "features": {"win": 1}, "label": n < 9}).encode() + b"\n" for n in range(10)
    )
    *_, (error) = sorted(
        replay("--errors", "9", "--model", model, stdin=lines)["errors"], key=lambda e: e["id"]
    )
    assert error["id"] == "9"
    assert error["score"] > 0
    assert error["terms"][0]["feature"] == "win"
    assert error["terms"][0]["contribution"] > 0


def test_mistake_with_a_late_label_is_explained(replay):
    (error,) = replay("--errors", "5", stdin=b'{"id":"0","text":"win","label":false}\n' + LATE)["errors"]
    assert (error["id"], error["score"]) == ("a", -2.0)
    assert error["terms"] == [{"feature": "text=win", "value": 1.0, "contribution": -1.0}]


def test_threshold_reaches_its_goal_on_the_predictions(replay):
    goals = ("--threshold", "precision=0.95", "--threshold", "recall=0.5")
    summary = replay("--model", "arow", *goals, "--predictions", "out.ndjson")
    rows = as_ndjson(Path("out.ndjson"))
    for found, name, least in zip(summary["thresholds"], ("precision", "recall"), (0.95, 0.5), strict=True):
        chosen = [row["truth"] for row in rows if row["score"] >= found["score"]]
        assert len(chosen) == found["decided"]
        assert sum(chosen) / len(chosen) == pytest.approx(found["precision"])
        assert sum(chosen) / sum(row["truth"] for row in rows) == pytest.approx(found["recall"])
        assert found[name] >= least


def test_unreachable_goal_is_reported(perceptron):
    lines = b'{"id":"a","text":"x","label":false}\n{"id":"b","text":"y","label":true}\n'
    assert "not reached" in perceptron("replay", "-", "--threshold", "precision=1", stdin=lines).stdout


@pytest.mark.parametrize("goal", ["precision", "precision=2", "cost=0.5", "precision=nan", "precision=x"])
def test_invalid_goal_is_rejected(perceptron, goal):
    result = perceptron("replay", "none.csv", "--threshold", goal)
    assert (result.exit_code, "expected precision|recall|false_positive_rate=RATIO" in result.stderr) == (
        2,
        True,
    )


def test_text_output_lists_mistakes_and_thresholds_below_the_summary(perceptron):
    text = perceptron("replay", "-", "--errors", "2", "--threshold", "precision=0.9", stdin=PAGES).stdout
    assert "most confident mistakes" in text
    assert text.count("but is") == 2
    assert "always last label" in text
    assert "precision=0.9" in text
