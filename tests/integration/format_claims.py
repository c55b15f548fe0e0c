"""What `serve` promises where records have schemas; the test files of this folder say on which stream."""

from __future__ import annotations

import json

import pytest
from google.protobuf import json_format
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass

from service.loop.restore import restore
from service.settings.load import Settings
from tests.service.formats.avro_values import record, written
from tests.support.protobuf_schemas import compiled
from tests.support.reference_streams import run_bare, sms_events

EVENT = record(id="string", features={"type": "map", "values": "double"}, label="boolean")
PROTO = """syntax = "proto3";
message Event { string id = 1; map<string, double> features = 2; optional bool label = 3; }
"""


def framed(schema_id, data):
    return b"\x00" + schema_id.to_bytes(4, "big") + data


def in_avro(registry, events):
    schema_id = registry.register("events-value", EVENT)
    return [framed(schema_id, written(EVENT, json.loads(event))) for event in events]


def in_protobuf(registry, events):
    pool = DescriptorPool()
    pool.Add(FileDescriptorProto.FromString(compiled(PROTO)[0]))
    message = GetMessageClass(pool.FindMessageTypeByName("Event"))
    schema_id = registry.register("events-value", PROTO, "PROTOBUF")
    return [
        framed(schema_id, b"\x00" + json_format.Parse(event, message()).SerializeToString())
        for event in events
    ]


def model_of(stream, **given):
    """Return the model that the checkpoints restore, with no registry to ask."""
    settings = Settings(**stream.settings, **given)
    return restore(stream.transport, settings, 0).processor.learner.model


class FormatClaims:
    """Claims about records with schemas."""

    @pytest.mark.parametrize(("value_format", "write"), [("avro", in_avro), ("protobuf", in_protobuf)])
    def test_real_messages_give_the_predictions_and_weights_of_native_json(
        self, stream, serve, registry, value_format, write
    ):
        events = sms_events()
        stream.create()
        stream.produce(write(registry, events))
        settings = {"events__format": value_format, "schema_registry__url": registry.url}
        assert serve("--exit-at-end", **settings).wait() == 0
        registry.stop()
        bare = run_bare(events)
        assert stream.answers() == bare.predictions
        found = model_of(stream, events={"format": value_format})
        assert (found.weights, found.bias) == (bare.model.weights, bare.model.bias)
