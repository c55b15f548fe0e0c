"""Records as Confluent's own serializers write them, and what is read of them."""

import json
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.formats.registry import SchemaRegistry
from service.formats.schema import Schema, SchemaKind, Schemas
from service.formats.topics import KINDS, READERS, WireReader
from service.messages.json_values import read_json, read_text
from service.messages.rejection import Reason, Rejection
from service.settings.kafka import RegistrySettings
from service.settings.mapping import EventSettings, LabelSettings
from service.stream.protocol import Record
from tests.service.formats.avro_values import record
from tests.service.formats.protobuf.test_messages import Order

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from confluent_kafka.schema_registry import SchemaRegistryClient
    from confluent_kafka.schema_registry.avro import AvroSerializer
    from confluent_kafka.schema_registry.json_schema import JSONSerializer
    from confluent_kafka.schema_registry.protobuf import ProtobufSerializer
    from confluent_kafka.serialization import MessageField, SerializationContext

EVENT = record(id="string", features={"type": "map", "values": "double"}, label=["null", "boolean"])
DOCUMENT = {"id": "a", "features": {"x": 1.5}, "label": True}
JSON_SCHEMA = {"title": "Event", "type": "object", "properties": {"id": {"type": "string"}}}
BY_TOPIC = {"subject.name.strategy.type": "TOPIC"}


def known(registry, value):
    """Return schemas after those that a record needs have been fetched."""
    found = Schemas({"events"})
    batch = [Record("events", 0, 0, 0, None, value)]
    schema_of = SchemaRegistry(RegistrySettings(url=registry.url)).schema
    found.add({key: schema_of(key) for key in found.mark_used(batch)})
    return found


def serialize(make, registry, value):
    """Write a value as Confluent does."""
    context = SerializationContext("events", MessageField.VALUE)
    return make(SchemaRegistryClient({"url": registry.url}), BY_TOPIC)(value, context)


MAKERS = {
    "avro": (lambda client, conf: AvroSerializer(client, json.dumps(EVENT), conf=conf), DOCUMENT),
    "protobuf": (
        lambda client, conf: ProtobufSerializer(Order, client, conf | {"skip.known.types": True}),
        Order(id="a"),
    ),
    "json-schema": (
        lambda client, conf: JSONSerializer(json.dumps(JSON_SCHEMA), client, conf=conf),
        DOCUMENT,
    ),
}


@pytest.mark.parametrize("value_format", MAKERS)
def test_values_of_confluents_serializers_are_read(registry, value_format):
    make, value = MAKERS[value_format]
    data = serialize(make, registry, value)
    read = WireReader(value_format, known(registry, data))
    for _ in range(2):  # the second time the reader is there
        found = read(data)
        assert found["id"] == "a" if value_format == "protobuf" else found == DOCUMENT


SEVEN = b"\x00\x00\x00\x00\x07"
AVRO = Schema("AVRO", (json.dumps(record(id="string")).encode(),))


@pytest.mark.parametrize(
    ("value_format", "schema", "value", "reason", "message"),
    [
        ("avro", None, SEVEN + b"x", Reason.UNKNOWN_SCHEMA, "schema 7: unknown to the Schema Registry"),
        ("json-schema", AVRO, SEVEN, Reason.UNKNOWN_SCHEMA, "schema 7 is of type AVRO, not JSON"),
        ("avro", Schema("AVRO", (b"{",)), SEVEN, Reason.UNKNOWN_SCHEMA, "schema 7 cannot be used"),
        ("protobuf", Schema(SchemaKind.UNUSABLE, (b"wrong",)), SEVEN, Reason.UNKNOWN_SCHEMA, "wrong"),
        ("avro", AVRO, b'{"id": "a"}', Reason.NO_SCHEMA, "magic byte"),
        ("avro", AVRO, SEVEN + b"\x06ab", Reason.INVALID_DATA, "it does not match its schema"),
        ("avro", Schema("AVRO", (b'"int"',)), SEVEN + b"\x00", Reason.NOT_AN_OBJECT, "expected a record"),
        ("json-schema", Schema("JSON", (b"{}",)), SEVEN + b"{", Reason.INVALID_JSON, "got the end"),
    ],
)
def test_unreadable_value_is_rejected_with_its_reason(value_format, schema, value, reason, message):
    schemas = Schemas({})
    schemas.add({SEVEN: schema} if schema else {})
    read = WireReader(value_format, schemas)
    for _ in range(2):
        with pytest.raises(Rejection, match=message) as caught:
            read(value)
        assert caught.value.reason is reason


def test_schema_found_later_is_used_afterwards():
    schemas = Schemas({})
    read = WireReader("avro", schemas)
    with pytest.raises(Rejection):
        read(SEVEN + b"\x02a")
    schemas.add({SEVEN: AVRO})
    assert read(SEVEN + b"\x02a") == {"id": "a"}


VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text()),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


@given(st.dictionaries(st.text(), VALUES))
def test_json_is_read_like_python_json(document):
    assert read_json(json.dumps(document).encode()) == document


def test_text_that_is_not_utf_8_is_rejected():
    with pytest.raises(Rejection, match="byte 1 is not UTF-8"):
        read_text(b"a\xff")


@pytest.mark.parametrize("settings", [EventSettings, LabelSettings])
def test_every_format_that_can_be_set_has_a_reader(settings):
    assert set(settings.model_json_schema()["properties"]["format"]["enum"]) == {*READERS, *KINDS}
