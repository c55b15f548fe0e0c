"""`status` tells how each partition stands, from what the service has committed."""

import json
import re

import pytest

from tests.service.building import event
from tests.service.cli.standing_stream import crash, damage, produce, serve
from tests.support.recreated_topic import recreate


@pytest.fixture
def stream(opened):
    return opened({"events": 2})


def status(perceptron, broker, *arguments):
    result = perceptron("status", "--broker", broker, "--format", "json", *arguments)
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)["partitions"]


def learn(stream):
    produce(stream, event("a", "win", True), event("b", "win", False), event("c", "win"), b"junk")


def test_counts_come_from_the_newest_progress(perceptron, broker, stream, monkeypatch):
    learn(stream)
    crash(stream, monkeypatch, max_batch_records=2)
    produce(stream, event("d"))
    found, other = status(perceptron, broker)
    assert 0 <= found.pop("snapshot_age_seconds") < 60
    assert found.pop("snapshot_size_bytes") > 100
    shown = {
        "partition": 0,
        "lag": {"events": 1, "labels": 0},
        "predictions": 3,
        "labelled": 2,
        "mistakes": 2,
        "updates": 2,
        "rejected": 1,
        "pending_labels": 1,
        "error_rate": 1.0,
        "batches_to_replay": 2,
    }
    assert found.items() >= shown.items()
    assert (other["predictions"], other["error_rate"], other["lag"]) == (0, None, {"events": 0, "labels": 0})


def test_snapshot_newer_than_all_progress_gives_the_same_counts(perceptron, broker, stream, monkeypatch):
    learn(stream)
    crash(stream, monkeypatch)
    before = status(perceptron, broker)[0]
    serve(stream)  # replay , and leaves a snapshot
    produce(stream, event("d", "win", True))
    serve(stream)
    newest = [r.offset for r in stream.read("checkpoints", 0) if ("kind", b"snapshot") in r.headers][-1]
    stream.delete_before("checkpoints", 0, newest)
    assert [r for r in stream.read("checkpoints", 0) if ("kind", b"progress") in r.headers] == []
    after = status(perceptron, broker)[0]
    grown = {"predictions": 4, "labelled": 3, "mistakes": 3, "updates": 3, "batches_to_replay": 0}
    ages = ("snapshot_age_seconds", "snapshot_size_bytes")
    assert {**after, **dict.fromkeys(ages)} == {**before, **dict.fromkeys(ages)} | grown


def test_decision_without_threshold_is_shown_with_its_reason(perceptron, broker, stream):
    learn(stream)
    serve(stream, decisions=[{"name": "block", "min_precision": 0.9}, {"name": "all", "threshold": -1}])
    assert status(perceptron, broker)[0]["undecided"] == {
        "block": "too few labels of the class yet: at least 15 more needed"
    }
    said = "partition 0: 'block' has no threshold: too few labels of the class yet: at least 15 more needed"
    assert said in perceptron("status", "--broker", broker).stdout.splitlines()


def test_reason_from_an_old_snapshot_names_its_age(perceptron, broker, stream, monkeypatch):
    learn(stream)
    crash(stream, monkeypatch, decisions=[{"name": "block", "min_precision": 0.9}])
    shown = perceptron("status", "--broker", broker).stdout
    assert re.search(r"partition 0, as of its snapshot \d+ s ago: 'block' has no threshold", shown)


def test_exhausted_decision_is_named(perceptron, broker, stream):
    learn(stream)
    serve(stream, decisions=[{"name": "look", "max_rate": "1/day"}])
    assert status(perceptron, broker)[0]["exhausted"] == ["look"]
    said = "partition 0: 'look' has used up the decisions of its period"
    assert said in perceptron("status", "--broker", broker).stdout.splitlines()


def test_partition_without_a_valid_snapshot_is_an_error(perceptron, broker, stream, monkeypatch):
    learn(stream)
    serve(stream)
    log = stream.read("checkpoints", 0)
    damage(stream, monkeypatch, *[each.offset for each in log if ("kind", b"snapshot") in each.headers])
    result = perceptron("status", "--broker", broker, "--format", "json")
    said = "checkpoints[0]: all 2 snapshots are unusable"
    assert (result.exit_code, said in result.stderr) == (1, True)
    assert [each.get("error") for each in json.loads(result.stdout)["partitions"]] == [said, None]


@pytest.mark.parametrize("setting", ["events", "labels"])
def test_given_topic_that_was_never_read_is_named(perceptron, broker, stream, setting):
    learn(stream)
    serve(stream)
    result = perceptron("status", "--broker", broker, f"--{setting}-topic", "evnets")
    assert f"{setting}_topic: the group has no offset of evnets; it has offsets of events" in result.stderr


def test_former_topic_has_no_lag(perceptron, broker, stream):
    stream.ensure_topics({"former": 2, "labels": 2})
    produce(stream, event("a"), topic="former")
    serve(stream, events_topic="former")
    learn(stream)
    serve(stream)
    produce(stream, event("d"), topic="former")
    assert status(perceptron, broker)[0]["lag"] == {"events": 0, "labels": 0}
    told = perceptron("status", "--broker", broker, "--events-topic", "former").stderr
    assert "events_topic: the group has no offset of former; it has offsets of events, labels" in told


def test_all_records_of_a_recreated_topic_count_as_lag(perceptron, broker, stream):
    learn(stream)
    serve(stream)
    recreate(stream)
    produce(stream, event("d"))
    assert status(perceptron, broker)[0]["lag"] == {"events": 1, "labels": 0}


def test_models_of_partitions_that_are_gone_are_named(perceptron, broker, stream):
    produce(stream, event("a"), partition=1)
    serve(stream)
    recreate(stream, partitions=1)
    result = perceptron("status", "--broker", broker)
    assert result.exit_code == 0, result.stderr
    assert "partition 1: unused model, as the events topic lacks the partition" in result.stderr


def test_text_form_is_an_aligned_table(perceptron, broker, stream):
    learn(stream)
    serve(stream)
    head, first, second = perceptron("status", "--broker", broker).stdout.splitlines()[:3]
    assert head.split()[:6] == ["partition", "lag", "events", "lag", "labels", "predictions"]
    assert first.split()[:7] == ["0", "0", "0", "3", "2", "2", "1.0000"]
    assert second.split()[6] == "-"
    assert len(head) == len(first) == len(second)


COUNTED = "predictions", "labelled", "mistakes", "updates", "rejected", "pending_labels", "error_rate"
NOTHING_COMMITTED = dict.fromkeys((*COUNTED, "snapshot_age_seconds", "snapshot_size_bytes"))
NOTHING_COMMITTED["batches_to_replay"] = 0


@pytest.mark.parametrize("topics", [[], ["labels", "checkpoints"]])
def test_status_before_the_first_serve_shows_waiting_records(perceptron, broker, stream, topics):
    stream.ensure_topics(dict.fromkeys(topics, 2))
    learn(stream)
    labels = {"labels": 0} if topics else {}
    assert status(perceptron, broker) == [
        {"partition": 0, "lag": {"events": 4} | labels, **NOTHING_COMMITTED},
        {"partition": 1, "lag": {"events": 0} | labels, **NOTHING_COMMITTED},
    ]
    _, first, second = perceptron("status", "--broker", broker).stdout.splitlines()[:3]
    assert (first.split()[:2], second.split()[:2]) == (["0", "4"], ["1", "0"])


def test_missing_topics_are_an_error(perceptron, broker, stream):
    result = perceptron("status", "--broker", broker, "--events-topic", "nowhere")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "neither topic 'nowhere' nor topic 'checkpoints' exists" in result.stderr
    assert "hint: `perceptron serve` creates them" in result.stderr


def test_checkpoints_of_another_group_are_an_error(perceptron, broker, stream):
    serve(stream)
    result = perceptron("status", "--broker", broker, "--group", "no one")
    assert result.exit_code == 1
    assert "online-perceptron" in result.stderr


def test_status_shows_class_separation_of_the_snapshots(perceptron, broker, stream):
    learn(stream)
    serve(stream, classes="ham,spam")
    shown = json.loads(perceptron("status", "--broker", broker, "--format", "json").stdout)["classes"]
    assert (
        shown["spam"].items() >= {"labelled": 1, "precision": 0.0, "recall": 0.0, "specificity": 0.0}.items()
    )
    *_, head, ham, spam = perceptron("status", "--broker", broker).stdout.splitlines()
    assert head.split() == ["class", "labelled", "precision", "recall", "F1", "specificity", "MCC"]
    assert (ham.split()[:2], spam.split()[:2]) == (["ham", "1"], ["spam", "1"])
