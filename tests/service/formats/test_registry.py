"""What is asked of a registry: of the tests' own, which Confluent's client takes for a real one."""

import itertools
import json
import ssl
import warnings
from contextlib import suppress

import pytest
import trustme
from google.protobuf.descriptor_pb2 import FileDescriptorProto

from service.errors import RegistryUnavailable
from service.formats.registry import SchemaMissing, SchemaRegistry, _Registered
from service.formats.schema import Schema, SchemaKind
from service.settings.kafka import RegistrySettings
from tests.service.formats.avro_values import record
from tests.service.formats.test_bounded_http import trickling
from tests.support.schema_registry import SchemaRegistryServer

OLD = record(id="string")


def key(schema_id):
    return b"\x00" + schema_id.to_bytes(4, "big")


def client(server, **given):
    return SchemaRegistry(RegistrySettings(url=server.url, **given))


def test_schema_is_found_by_its_id(registry):
    schema_id = registry.register("events-value", OLD)
    assert client(registry).schema(key(schema_id)) == Schema("AVRO", (json.dumps(OLD).encode(),))


def test_referenced_schemas_come_first_and_once(registry):
    def refer(subject, version=1):
        return {"name": subject, "subject": subject, "version": version}

    registry.register("a", record("A", n="int"))
    registry.register("b/x", record("B", a="A"), references=[refer("a")])
    main = registry.register("c", record("C", a="A", b="B"), references=[refer("b/x"), refer("a")])
    parts = client(registry).schema(key(main)).parts
    assert [json.loads(part)["name"] for part in parts] == ["A", "B", "C"]


def test_reference_to_a_deleted_schema_version_is_read(registry):
    registry.register("a", record("A", n="int"))
    main = registry.register(
        "c", record("C", a="A"), references=[{"name": "A", "subject": "a", "version": 1}]
    )
    registry.catalog.delete("a")
    assert len(client(registry).schema(key(main)).parts) == 2


def test_protobuf_schema_is_requested_as_descriptors(registry):
    registry.register("inner", 'syntax = "proto3"; message Inner { int32 n = 1; }', "PROTOBUF")
    text = 'syntax = "proto3"; import "in.proto"; message M { Inner inner = 1; }'
    reference = {"name": "in.proto", "subject": "inner", "version": 1}
    main = registry.register("m", text, "PROTOBUF", [reference])
    files = list(map(FileDescriptorProto.FromString, client(registry).schema(key(main)).parts))
    assert [file.message_type[0].name for file in files] == ["Inner", "M"]
    assert list(files[1].dependency) == [files[0].name]


def test_protobuf_as_text_cannot_be_used():
    with SchemaRegistryServer(serialized=False) as registry:
        main = registry.register("m", 'syntax = "proto3"; message M { int32 n = 1; }', "PROTOBUF")
        schema = client(registry).schema(key(main))
    assert schema.kind == SchemaKind.UNUSABLE
    assert b"must support format=serialized" in schema.parts[0]


def test_id_that_the_registry_does_not_have_is_missing(registry):
    with pytest.raises(SchemaMissing, match="Schema 7 not found"):
        client(registry).schema(key(7))


@pytest.mark.parametrize("status", [401, 403, 409, 422, 429, 500, 503])
def test_other_http_errors_do_not_reject_the_schema(registry, status):
    registry.status = status
    with pytest.raises(RegistryUnavailable, match=f"HTTP {status} as if"):
        client(registry).schema(key(1))


def test_404_of_another_server_does_not_reject_the_schema(registry):
    elsewhere = SchemaRegistry(RegistrySettings(url=f"{registry.url}/no/registry"))
    with pytest.raises(RegistryUnavailable, match="HTTP 404") as caught:
        elsewhere.schema(key(1))
    assert "schema_registry.url" in caught.value.hint


def test_stopped_registry_is_unavailable(registry):
    registry.stop()
    with pytest.raises(RegistryUnavailable, match="refused"):
        client(registry).schema(key(1))


def test_slow_registry_is_unavailable(registry, monkeypatch):
    monkeypatch.setattr("service.formats.registry._TIMEOUT_SECONDS", 0.05)
    registry.delay_seconds = 0.5
    with pytest.raises(RegistryUnavailable, match="timed out"):
        client(registry).schema(key(1))


def responding(body, status=b"200 OK"):
    """Serve one response of these bytes."""
    head = b"HTTP/1.1 %b\r\nContent-Length: %d\r\n\r\n" % (status, len(body))
    return trickling(head + body, len(head) + len(body))


REFERRING = b'{"schema": "x", "references": [{"name": "a", "subject": "%b", "version": %b}]}'
DEEP = b"[" * 100_000


@pytest.mark.parametrize(
    "body",
    [
        *(b"[]", b"{}", b'{"schema": 5}', b'{"schema": "x", "references": 5}'),
        b'{"schema": "x", "references": [{}]}',
        DEEP,
        b'{"schema": "x", "more": ' + DEEP,
        b'{"schema": "' + b"x" * (17 << 20) + b'"}',
        REFERRING % (b"a", b"1e999"),
        REFERRING % (b"a", b"[]"),
        REFERRING % (b"\\ud800", b"1"),
        b'{"schema": "\\ud800"}',
        b'{"schema": "x", "schemaType": ' + b"9" * 100 + b"}",
        b'{"schema": "x", "schemaType": "' + b"9" * 101 + b'"}',
        b"\xff",
    ],
    ids=lambda body: body[-40:].decode(errors="replace"),
)
def test_malformed_response_makes_the_registry_unavailable(body, monkeypatch):
    monkeypatch.setattr("service.formats.registry._TIMEOUT_SECONDS", 60.0)  # where machines are slow, too
    monkeypatch.setattr("service.formats.registry._LOOKUP_SECONDS", 60.0)
    with responding(body) as port, pytest.raises(RegistryUnavailable, match="response of a Schema Registry"):
        SchemaRegistry(RegistrySettings(url=f"http://127.0.0.1:{port}")).schema(key(1))


@pytest.mark.parametrize("body", [DEEP, b'{"error_code": []}', b'{"error_code": 1e999}', b"5", b"\xff"])
def test_unreadable_404_does_not_reject_the_schema(body):
    with (
        responding(body, b"404 Not Found") as port,
        pytest.raises(RegistryUnavailable, match="HTTP 404 Not Found"),
    ):
        SchemaRegistry(RegistrySettings(url=f"http://127.0.0.1:{port}")).schema(key(1))


def chain(length, text="x"):
    """Return a client whose registry has a schema that refers to another, which refers to another …"""
    asked = []

    def get(path, _deadline):
        number = len(asked)
        asked.append(path)
        reference = {"name": f"n{number}", "subject": f"s{number}", "version": 1}
        return _Registered(schema=text, references=[reference] if number < length else [])

    made = SchemaRegistry(RegistrySettings(url="http://127.0.0.1:1"))
    made._get = get
    return made


def test_schema_with_more_than_1000_chained_references_is_unusable():
    assert chain(1000).schema(key(1)) == Schema("AVRO", (b"x",) * 1001)
    assert chain(1001).schema(key(1)) == Schema("UNUSABLE", (b"it refers to more than 1000 others",))


def test_schema_too_large_with_references_is_unusable():
    kind, (why,) = chain(20, "x" * (1 << 20)).schema(key(1))
    assert (kind, why[:32]) == ("UNUSABLE", b"it has more than 16777216 charac")


def test_schema_lookup_has_a_total_timeout_and_resumes(registry, monkeypatch):
    seconds = itertools.count(0, 3)  # each look at the clock takes three
    monkeypatch.setattr("service.formats.registry.monotonic", lambda: next(seconds))
    for number in range(8):
        references = [{"name": f"R{number - 1}", "subject": f"s{number - 1}", "version": 1}] if number else []
        fields = {"a": f"R{number - 1}"} if number else {}
        last = registry.register(f"s{number}", record(f"R{number}", **fields), references=references)
    asking = client(registry)
    with pytest.raises(RegistryUnavailable, match="no whole schema within 10 s"):
        asking.schema(key(last))
    for _ in range(8):
        with suppress(RegistryUnavailable):
            assert len(asking.schema(key(last)).parts) == 8
            return
    pytest.fail("no lookup has gone on from where the one before it ended")


def test_query_of_the_registry_url_is_never_shown():
    registry = SchemaRegistry(RegistrySettings(url="http://127.0.0.1:1/a b?token=secret"))
    with pytest.raises(RegistryUnavailable) as caught:
        registry.schema(key(1))
    assert "secret" not in str(caught.value)


def test_password_is_sent_only_to_the_registry():
    with SchemaRegistryServer(credentials=("me", "päss")) as registry:
        schema_id = registry.register("a", OLD)
        assert client(registry, username="me", password="päss").schema(key(schema_id))
        with pytest.raises(RegistryUnavailable, match="HTTP 401") as caught:
            client(registry, username="me", password="wrong").schema(key(schema_id))
    assert "schema_registry.password" in caught.value.hint
    assert "wrong" not in str(caught.value)


def test_trusted_certificate_authority_can_be_set(tmp_path):
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    with SchemaRegistryServer(context=context) as registry:
        schema_id = registry.register("a", OLD)
        assert client(registry, ssl_cafile=str(tmp_path / "ca.pem")).schema(key(schema_id))
        with pytest.raises(RegistryUnavailable, match="certificate"):
            client(registry).schema(key(schema_id))


@pytest.mark.parametrize("mock", [False, True], ids=["tests' own", "mock"])
def test_confluents_client_accepts_the_test_registry(registry, mock):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from confluent_kafka.schema_registry import Schema as Registered  # noqa: PLC0415
        from confluent_kafka.schema_registry import SchemaRegistryClient  # noqa: PLC0415

    theirs = SchemaRegistryClient.new_client({"url": "mock://" if mock else registry.url})
    schema = Registered(json.dumps(OLD), "AVRO")
    schema_id = theirs.register_schema("events-value", schema)
    assert theirs.get_schema(schema_id).schema_str == json.dumps(OLD)
    assert theirs.lookup_schema("events-value", schema).schema_id == schema_id
    assert theirs.get_latest_version("events-value").version == 1
    assert theirs.get_versions("events-value") == [1]
