"""`verify` proves exactly-once, or lists what contradicts; its exit code says which."""

import json
from pathlib import Path

import pytest

from service.settings.mapping import EventSettings
from service.stream.opening import open_transport
from service.stream.protocol import Output
from service.verify.findings import NOT_VERIFIABLE
from tests.service.building import event
from tests.service.cli.standing_stream import produce, serve


@pytest.fixture
def stream(broker):
    transport = open_transport(broker)
    transport.ensure_topics({"events": 2})
    produce(transport, event("a", "win", True), event("b", "lose", False), b"junk")
    serve(transport)
    yield transport
    transport.close()


@pytest.fixture(autouse=True)
def no_patience(monkeypatch):
    monkeypatch.setattr("service.verify.verify.VISIBILITY_SECONDS", 0.0)


ROOT = Path(__file__).parents[4]
FOREIGN = Output(
    "predictions", b"x", b'{"id":"x","label":true,"score":0.0,"updates":0,"event_time_ms":5}', (), 0
)


def test_consistent_stream_is_proved_with_counts(perceptron, broker, stream):
    result = perceptron("verify", "--broker", broker)
    assert result.exit_code == 0
    assert result.stdout == (
        "proved: 3 records, 2 predictions, 0 outcomes, 1 dead letter, 1 progress record, 3 snapshots "
        "in 2 partitions\n"
    ) + "".join(f"never verifiable: {each}\n" for each in NOT_VERIFIABLE)


def test_guarantees_page_lists_unverifiable_claims():
    guarantees = (ROOT / "docs/explanation/guarantees.md").read_text(encoding="utf-8")
    assert [each for each in NOT_VERIFIABLE if f"- {each}\n" not in guarantees] == []


def test_contradictions_are_listed_with_exit_code_1(perceptron, broker, stream):
    stream.produce([FOREIGN])
    result = perceptron("verify", "--broker", broker)
    assert result.exit_code == 1
    assert result.stdout == ('predictions[0]@2  unexpected  id "x": prediction without an event\n')
    assert result.stderr.startswith("not proved: 1 unexpected; 3 records")


def test_json_is_one_object_for_machines(perceptron, broker, stream):
    stream.produce([FOREIGN])
    found = json.loads(perceptron("verify", "--broker", broker, "--format", "json").stdout)
    assert (found["proved"], found["predictions"], found["faults"]) == (False, 2, {"unexpected": 1})
    assert found["findings"] == [
        {
            "fault": "unexpected",
            "topic": "predictions",
            "partition": 0,
            "offset": 2,
            "id": "x",
            "message": "prediction without an event",
        }
    ]


def test_unverifiable_part_is_named_without_failure(perceptron, broker, stream):
    stream.delete_before("events", 0, 1)
    result = perceptron("verify", "--broker", broker)
    assert result.exit_code == 0
    assert "not verifiable: events[0]: records 0-0 are deleted\n" in result.stdout


def test_stream_without_checkpoints_is_not_proved(perceptron, broker):
    with_events = open_transport(broker)
    with_events.ensure_topics({"events": 1})
    with_events.close()
    result = perceptron("verify", "--broker", broker)
    assert result.exit_code == 1
    assert "perceptron serve" in result.stderr


def test_first_bad_rows_are_shown_and_the_rest_counted(perceptron, broker, stream):
    stream.produce([FOREIGN] * 25)
    result = perceptron("verify", "--broker", broker)
    assert len(result.stdout.splitlines()) == 21
    assert "... and 5 more" in result.stdout


MAPPED = EventSettings(id="no", text=("body",), label="verdict")
"""Another mapping than none."""


@pytest.fixture
def mapped(broker):
    """A stream whose service has classes, a mapping, limits and topics of its own."""
    transport = open_transport(broker)
    transport.ensure_topics({"mails": 1})
    long = json.dumps({"no": "x", "body": "win " * 50}).encode()
    produce(
        transport,
        b'{"no":"a","body":"win","verdict":"spam"}',
        b'{"no":"b","body":"lose"}',
        long,
        topic="mails",
    )
    given = {"events_topic": "mails", "labels_topic": "", "classes": ("ham", "spam"), "max_pending": 9}
    serve(transport, **given, max_message_bytes=100, events=MAPPED)
    yield transport
    transport.close()


def test_omitted_settings_come_from_the_checkpoints(perceptron, broker, mapped):
    result = perceptron("verify", "--broker", broker)
    assert result.stdout.startswith("proved: 3 records, 2 predictions, 0 outcomes, 1 dead letter"), (
        result.stderr
    )


def test_setting_that_contradicts_the_checkpoints_is_rejected(perceptron, broker, mapped):
    result = perceptron("verify", "--broker", broker, "--classes", "no,yes")
    assert (result.exit_code, result.stderr.splitlines()[0]) == (
        2,
        "error: classes: expected ham,spam as in the checkpoint, got no,yes",
    )


@pytest.mark.parametrize(
    ("given", "name", "value"),
    [
        ("model = 'arow'", "model", "'arow'"),
        ("costs = { false_positive = 1, false_negative = 2 }", "costs.false_positive", "1.0"),
        ("decisions = [{ name = 'block', threshold = 1 }]", "decisions", "{'name': 'block'"),
        ("drift.reaction = 'record'", "drift.reaction", "'record'"),
    ],
)
def test_other_model_or_decision_than_the_checkpoints_is_rejected(
    perceptron, broker, stream, tmp_path, given, name, value
):
    config = tmp_path / "service.toml"
    config.write_text(given, encoding="utf-8")
    result = perceptron("verify", "--broker", broker, "--config", config)
    assert result.exit_code == 2
    assert result.stderr.startswith(f"error: {name}: expected ")
    assert f"as in the checkpoint, got {value}" in result.stderr
