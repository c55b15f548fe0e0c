"""Whole streams in Avro, Protobuf and JSON with a schema: the same as native, with a registry or without."""

import json
import random
import threading
import time
from types import SimpleNamespace

import pytest
from google.protobuf import json_format
from prometheus_client import CollectorRegistry

from perceptron_core.formats.packed import pack
from service.checkpoints.log import read_log
from service.loop.context import Context
from service.loop.restore import restore
from service.loop.runner import Runner
from service.monitoring.health import Health, State
from service.monitoring.metrics import Metrics
from service.stream.opening import open_transport
from service.stream.protocol import Output
from tests.service.building import settings
from tests.service.formats.avro_values import record, written
from tests.service.formats.protobuf.test_messages import message_class
from tests.support.protobuf_schemas import compiled
from tests.support.speed import patience

PROTO = """syntax = "proto3";
message Event {
  message Value { oneof kind { double number = 1; string text = 2; } }
  string id = 1;
  map<string, double> features = 2;
  optional string text = 3;
  optional bool label = 4;
}
"""
EVENT = record(
    id="string",
    features={"type": "map", "values": "double"},
    text=["null", "string"],
    label=["null", "boolean"],
)


def some_events(count=60):
    rng = random.Random(7)
    words = ["win", "prize", "now", "hello", "meeting", "tomorrow"]
    for number in range(count):
        spam = rng.random() < 0.5
        text = " ".join(rng.choices(words[:4] if spam else words[2:], k=4))
        event = {"id": f"m{number}", "features": {"length": rng.gauss(0, 1)}, "text": text, "label": None}
        yield event | ({"label": spam} if number % 3 else {})


def framed(schema_id, data):
    return b"\x00" + schema_id.to_bytes(4, "big") + data


def in_json(_registry, events):
    return [json.dumps({k: v for k, v in event.items() if v is not None}).encode() for event in events]


def in_avro(registry, events):
    schema_id = registry.register("events-value", EVENT)
    return [framed(schema_id, written(EVENT, event)) for event in events]


def in_protobuf(registry, events):
    schema_id = registry.register("events-value", PROTO, "PROTOBUF")
    message = message_class(compiled(PROTO), "Event")
    return [
        framed(schema_id, b"\x00" + json_format.ParseDict(event, message()).SerializeToString())
        for event in events
    ]


def in_json_schema(registry, events):
    schema_id = registry.register("events-value", {"type": "object"}, "JSON")
    return [framed(schema_id, value) for value in in_json(registry, events)]


def produce(stream, values, *, since=0):
    stream.ensure_topics({"events": 1})
    stream.produce(
        [Output("events", None, value, (), 0, (since + number) * 1000) for number, value in enumerate(values)]
    )


def given_for(registry, value_format="avro", **given):
    found = {"commit_interval_seconds": 0.001, "max_batch_records": 7, "labels_topic": ""} | given
    return settings(events={"format": value_format}, schema_registry={"url": registry.url}, **found)


def run(stream, given, health=None):
    Runner(Context(stream, given, Metrics(CollectorRegistry()), health or Health())).run(exit_at_end=True)


def outputs(stream, topic="predictions"):
    return [(each.key, each.value) for each in stream.read(topic, 0)]


def reasons(stream):
    return [dict(each.headers)["error.reason"].decode() for each in stream.read("dead-letters", 0)]


def model(stream, given):
    """Return the restored state of the model and of what waits for labels."""
    state = restore(stream, given, 0).processor.state()
    return pack([state["model"], state["join"], state["counters"]])


def learned(stream, given):
    return restore(stream, given, 0).processor.learner.dump()


@pytest.fixture
def native(registry):
    """The predictions and the model of the same events in the service's own JSON."""
    stream = open_transport("memory://")
    given = given_for(registry, "json")
    produce(stream, in_json(registry, some_events()))
    run(stream, given)
    yield outputs(stream), learned(stream, given)
    stream.close()


@pytest.mark.parametrize(
    ("value_format", "write"), [("avro", in_avro), ("protobuf", in_protobuf), ("json-schema", in_json_schema)]
)
def test_predictions_and_weights_equal_native_json(stream, registry, native, value_format, write):
    given = given_for(registry, value_format)
    produce(stream, write(registry, some_events()))
    run(stream, given)
    assert (outputs(stream), learned(stream, given)) == native
    assert reasons(stream) == []


@pytest.mark.parametrize("transport", ["memory", "sqlite"])
def test_recovery_asks_no_registry_and_restores_the_same_model(
    registry, native, transport, tmp_path, monkeypatch
):
    stream = open_transport("memory://" if transport == "memory" else f"sqlite:///{tmp_path}/stream.db")
    given = given_for(registry, snapshot_interval_records=25)
    values = in_avro(registry, some_events())
    produce(stream, values[:30])
    monkeypatch.setattr("service.loop.task.Task.hand_over", lambda task, *_: task.close())  # killed
    run(stream, given)
    registry.stop()
    produce(stream, values[30:], since=30)
    run(stream, given)
    assert outputs(stream) == native[0]
    assert learned(stream, given) == native[1]
    assert reasons(stream) == []
    stream.close()


def test_schema_is_in_the_log_before_any_snapshot(stream, registry, monkeypatch):
    monkeypatch.setattr("service.loop.task.Task.hand_over", lambda task, *_: task.close())
    produce(stream, in_avro(registry, some_events(20)))
    run(stream, given_for(registry))
    log = read_log(stream.read("checkpoints", 0), "online-perceptron")
    assert [(each.sequence, each.key) for each in log.schemas] == [(1, framed(1, b""))]
    assert [each.sequence for each in log.snapshots] == [0]
    registry.stop()
    assert restore(stream, given_for(registry), 0).processor.counters.predictions == 20


def test_old_and_new_schemas_share_a_topic(stream, registry):
    newer = record(**{each["name"]: each["type"] for each in EVENT["fields"]}, extra="int")
    newer["fields"][-1]["default"] = 0
    events = list(some_events(20))
    old = in_avro(registry, events)
    schema_id = registry.register("events-value", newer)
    new = [framed(schema_id, written(newer, event | {"id": event["id"] + "new"})) for event in events]
    produce(stream, [value for pair in zip(old, new, strict=True) for value in pair])
    given = given_for(registry).model_copy(
        update={"events": given_for(registry).events.model_copy(update={"unknown_fields": "ignore"})}
    )
    run(stream, given)
    assert len(outputs(stream)) == 40


def test_invalid_records_become_dead_letters_with_reasons(stream, registry):
    good = in_avro(registry, some_events(1))[0]
    odd = framed(registry.register("odd", record(id="string", **{"\ud800": "double"})), b"\x02a" + bytes(8))
    values = [b'{"id": "a"}', framed(99, b"x"), good + b"more", framed(1, b"\x7f"), b"\x00\x01", odd, good]
    produce(stream, values)
    run(stream, given_for(registry))
    assert reasons(stream) == [
        *("no_schema", "unknown_schema", "invalid_data", "invalid_data", "no_schema", "unknown_schema")
    ]
    assert len(outputs(stream)) == 1
    (letter,) = [each for each in stream.read("dead-letters", 0) if each.value == framed(99, b"x")]
    assert b"schema 99: unknown to the Schema Registry" in dict(letter.headers)["error.message"]


def test_records_of_a_formerly_unknown_schema_stay_rejected(stream, registry, monkeypatch):
    monkeypatch.setattr("service.loop.task.Task.hand_over", lambda task, *_: task.close())
    monkeypatch.setattr("service.formats.sources._PATIENCE_SECONDS", 0.0)
    value = framed(1, written(EVENT, next(some_events())))
    given = given_for(registry)
    produce(stream, [value])
    run(stream, given)
    in_avro(registry, [])
    produce(stream, [value], since=1)
    run(stream, given)
    assert (reasons(stream), len(outputs(stream))) == (["unknown_schema"], 1)
    registry.stop()
    found = restore(stream, given, 0).processor.counters  # learns both batches again
    assert (found.rejected.total(), found.predictions) == (1, 1)


def test_stop_while_the_registry_is_away_leaves_a_snapshot(stream, registry):
    values = in_avro(registry, some_events())
    produce(stream, values[:20])
    given = given_for(registry)
    run(stream, given)
    registry.status = 503
    other = framed(registry.register("other", record(id="string")), b"\x02a")
    produce(stream, [*values[20:27], other], since=20)
    health = Health()
    runner = Runner(Context(stream, given, Metrics(CollectorRegistry()), health))
    thread = threading.Thread(target=runner.run)
    thread.start()
    deadline = time.monotonic() + patience(10)
    while health.state is not State.UNAVAILABLE and time.monotonic() < deadline:
        time.sleep(0.01)
    runner.stop()
    thread.join(patience(10))
    log = read_log(stream.read("checkpoints", 0), given.group)
    assert log.snapshots[-1].sequence == log.progress[-1].sequence


def test_loop_is_not_ready_while_the_registry_is_down(stream, registry, native, monkeypatch):
    """Though a consumer that begins again at the batch has nothing for a moment."""
    values = in_avro(registry, some_events())
    given, health, said = given_for(registry), Health(), []
    runner = Runner(Context(stream, given, Metrics(CollectorRegistry()), health))
    while health.state is not State.READY:
        runner.step()
    registry.status = 503
    produce(stream, values)
    while health.state is State.READY:
        runner.step()
    become, begin, poll, empty = health.become, runner._consumer.start, runner._consumer.poll, []

    def start(*given):
        begin(*given)
        empty.append({})

    monkeypatch.setattr(runner._consumer, "start", start)
    monkeypatch.setattr(runner._consumer, "poll", lambda *given: empty.pop() if empty else poll(*given))
    monkeypatch.setattr(health, "become", lambda state, *reason: (said.append(state), become(state, *reason)))
    deadline = time.monotonic() + patience(20)
    while said.count(State.UNAVAILABLE) < 3 and time.monotonic() < deadline:
        runner.step()
    assert set(said) == {State.UNAVAILABLE}
    assert "HTTP 503" in health.condition[1]
    assert registry.url in health.condition[1]
    assert outputs(stream) == []
    registry.status = None
    while (health.state is not State.READY or outputs(stream) < native[0]) and time.monotonic() < deadline:
        runner.step()
    runner.close()
    assert outputs(stream) == native[0]
    assert reasons(stream) == []


def test_reference_that_the_registry_does_not_have_is_named(stream, registry, monkeypatch):
    monkeypatch.setattr("service.formats.sources._PATIENCE_SECONDS", 0.0)
    registry.register("person-value", record("Person", age="int"))
    reference = {"name": "Person", "subject": "person-value", "version": 1}
    schema_id = registry.register("m", record(id="string", who="Person"), references=[reference])
    registry.catalog.delete("person-value")
    registry.catalog.delete("person-value", permanent=True)
    produce(stream, [framed(schema_id, b"x")])
    run(stream, given_for(registry))
    (letter,) = stream.read("dead-letters", 0)
    assert dict(letter.headers)["error.message"].decode() == (
        f"schema {schema_id}: unknown to the Schema Registry"
    )


@pytest.mark.parametrize("place", ["service.formats.topics.avro_reader", "service.formats.avro._tried"])
def test_unexpected_error_makes_a_dead_letter_with_traceback(stream, registry, monkeypatch, caplog, place):
    def fail(*_):
        raise SystemError("no one foresaw this")

    monkeypatch.setattr(
        place, fail if place.endswith("avro_reader") else lambda _: SimpleNamespace(read=fail)
    )
    produce(stream, in_avro(registry, some_events(3)))
    run(stream, given_for(registry))
    assert reasons(stream) == ["unknown_schema"] * 3
    assert caplog.text.count("Traceback") == 1
