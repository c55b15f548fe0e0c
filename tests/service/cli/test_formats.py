"""Commands on a stream whose records have schemas, from the command line to the registry."""

import json

import pytest

from service.stream.opening import open_transport
from service.stream.protocol import Output
from tests.service.formats.avro_values import record, written
from tests.support.schema_registry import SchemaRegistryServer

EVENT = record(id="string", text="string", label=["null", "boolean"])


@pytest.fixture
def registry(monkeypatch):
    with SchemaRegistryServer() as server:
        monkeypatch.setenv("PERCEPTRON_SCHEMA_REGISTRY__URL", server.url)
        monkeypatch.setenv("PERCEPTRON_EVENTS__FORMAT", "avro")
        yield server


def value(schema_id, number):
    event = {"id": f"e{number}", "text": "win" if number % 2 else "lose", "label": number % 2 == 1}
    return b"\x00" + schema_id.to_bytes(4, "big") + written(EVENT, event)


def produce(broker, values, topic="events"):
    stream = open_transport(broker)
    stream.ensure_topics({topic: 1, "labels": 1})
    stream.produce([Output(topic, None, each, (), 0, number) for number, each in enumerate(values)])
    stream.close()


def test_serve_and_verify_read_schemas(perceptron, broker, registry):
    produce(broker, [value(registry.register("events-value", EVENT), n) for n in range(30)])
    at = ("--broker", broker)
    served = perceptron("serve", *at, "--exit-at-end", "--http", "")
    assert served.exit_code == 0, served.stderr
    registry.stop()
    verified = perceptron("verify", *at, "--format", "json")
    assert verified.exit_code == 0, verified.stderr
    assert json.loads(verified.stdout)["predictions"] == 30
    shown = perceptron("checkpoint", "show", *at)
    assert shown.exit_code == 0, shown.stderr


def test_check_input_shows_what_schemas_make_of_any_topic(perceptron, broker, registry):
    produce(broker, [value(registry.register("other-value", EVENT), 1), b"{}"], topic="other")
    result = perceptron("check-input", "--topic", "other", "--broker", broker, "--format", "json")
    first, second = map(json.loads, result.stdout.splitlines())
    assert (first["id"], first["text"], first["label"]) == ("e1", "win", True)
    assert second["reason"] == "no_schema"


def test_dead_letters_are_replayed_once_their_schema_is_registered(perceptron, broker, registry, monkeypatch):
    monkeypatch.setattr("service.formats.sources._PATIENCE_SECONDS", 0.0)
    produce(broker, [value(1, 1)])
    at = ("--broker", broker)
    perceptron("serve", *at, "--exit-at-end", "--http", "")
    assert "  rejected: " in perceptron("dead-letters", "replay", *at).stdout
    registry.register("events-value", EVENT)
    assert "  replayed to events" in perceptron("dead-letters", "replay", *at).stdout
    perceptron("serve", *at, "--exit-at-end", "--http", "")
    assert perceptron("consume", "predictions", *at, "--exit-at-end").stdout.count('"e1') >= 1


def test_consume_shows_predictions_in_a_format_as_json(perceptron, broker, registry, monkeypatch):
    monkeypatch.setenv("PERCEPTRON_PREDICTIONS_FORMAT", "avro")
    produce(broker, [value(registry.register("events-value", EVENT), n) for n in range(3)])
    at = ("--broker", broker)
    assert perceptron("serve", *at, "--exit-at-end", "--http", "").exit_code == 0
    lines = perceptron("consume", "predictions", *at, "--exit-at-end").stdout.splitlines()
    assert [json.loads(line)["value"]["id"] for line in lines] == ["e0", "e1", "e2"]
    assert perceptron("verify", *at).exit_code == 0
