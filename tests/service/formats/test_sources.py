import json

import pytest

from service.errors import ConfigurationError, RegistryUnavailable
from service.formats.schema import Schema
from service.formats.sources import Sources
from service.formats.topics import make_schemas
from service.stream.protocol import Record
from tests.service.building import SetClock, settings
from tests.service.formats.avro_values import record

SCHEMA = record(id="string")
PARTS = (json.dumps(SCHEMA).encode(),)


def key(schema_id):
    return b"\x00" + schema_id.to_bytes(4, "big")


def batch(*ids):
    return [Record("events", 0, n, 0, None, key(schema_id) + b"\x02a") for n, schema_id in enumerate(ids)]


class Asking:
    """Sources and the schemas of one partition."""

    def __init__(self, registry, **given):
        self.clock = SetClock()
        given = {"events": {"format": "avro"}, "schema_registry": {"url": registry.url}} | given
        self.settings = settings(**given)
        self.sources = Sources(self.settings, self.clock)
        self.registry = registry

    def __call__(self, *ids):
        """Return the keys of what is found, and how many requests that took."""
        before = len(self.registry.requests)
        found = self.sources.find(make_schemas(self.settings), batch(*ids))
        return set(found), len(self.registry.requests) - before


@pytest.fixture
def asking(registry):
    registry.register("a", SCHEMA)
    return Asking(registry)


def test_schema_is_requested_once_for_all_partitions(asking):
    assert [asking(1), asking(1, 1)] == [({key(1)}, 1), ({key(1)}, 0)]


def test_request_to_a_lagging_registry_replica_is_repeated(asking):
    asking.registry.lag["1"] = 3
    assert asking(1) == ({key(1)}, 4)


def test_unknown_schema_id_fails_after_two_seconds_and_is_cached(asking):
    assert asking(7) == (set(), 9)
    assert asking.clock.seconds == pytest.approx(2)
    assert asking(7, 1) == ({key(1)}, 1)
    asking.clock.seconds += 61
    assert asking(7) == (set(), 9)


def test_reference_that_the_registry_lacks_is_named_once(asking, caplog):
    lacking = [{"name": "B", "subject": "b", "version": 1}]
    asking.registry.register("b", record("B"))
    schema_id = asking.registry.register("c", record("C", b="B"), references=lacking)
    del asking.registry.catalog.subjects["b"]
    for _ in range(2):
        assert asking(schema_id)[0] == set()
    (said,) = caplog.messages
    assert f"schema {schema_id}: it refers to version 1 of the subject 'b': " in said


def test_unknown_ids_delay_a_batch_once_a_minute(asking):
    asking(7)
    assert asking(8) == (set(), 1)
    assert asking.clock.seconds == pytest.approx(2)


def test_silent_registry_is_an_error_each_time(asking):
    asking.registry.status = 503
    for _ in range(2):
        with pytest.raises(RegistryUnavailable):
            asking(1)
    asking.registry.status = None
    assert asking(1) == ({key(1)}, 1)


def test_slow_registry_responses_delay_a_batch_which_then_resumes(asking):
    respond = asking.registry.respond

    def slowly(*asked):
        asking.clock.seconds += 1
        return respond(*asked)

    asking.registry.respond = slowly
    with pytest.raises(RegistryUnavailable, match="has responded for 10 of 15 schemas within 10 s"):
        asking(*range(101, 115), 1)
    assert asking(*range(101, 115), 1)[0] == {key(1)}


def test_schema_that_fails_unexpectedly_while_reading_is_unusable(registry, monkeypatch, caplog):
    registry.register("a", SCHEMA)
    asking = Asking(registry)

    def fail(*_):
        raise AttributeError("no one foresaw this")

    monkeypatch.setattr(asking.sources._registry, "schema", fail)
    found = asking.sources.find(make_schemas(asking.settings), batch(1))
    assert found == {key(1): Schema("UNUSABLE", (b"AttributeError: no one foresaw this",))}
    assert "Traceback" in caplog.text


def test_missing_registry_is_named_at_the_start():
    with pytest.raises(ConfigurationError, match=r"events\.format avro needs a Schema Registry"):
        Sources(settings(events={"format": "avro"}))


def test_missing_package_is_named_at_the_start(monkeypatch):
    monkeypatch.setattr("service.settings.code.find_spec", lambda _: None)
    with pytest.raises(
        ConfigurationError, match=r"events\.format protobuf needs the package protobuf"
    ) as caught:
        Sources(settings(events={"format": "protobuf"}, schema_registry={"url": "http://127.0.0.1:1"}))
    assert "pip install 'online-perceptron[schemas]'" in caught.value.hint
