import datetime as dt
import decimal
import json
import re
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.errors import ConfigurationError
from service.formats.avro import avro_reader
from service.formats.protobuf import UnusableSchema
from tests.service.formats.avro_values import reader, record, schemas, written


@given(st.data())
def test_values_written_by_fastavro_are_read_unchanged(data):
    schema, values = data.draw(schemas())
    value = data.draw(values)
    assert reader(schema)(b"before" + written(schema, value), 6) == value


def logical(kind, name, **more):
    return {"type": kind, "logicalType": name, **more}


NOON = dt.datetime(2026, 11, 23, 12, 0, 0, 250_000, tzinfo=dt.UTC)
NOON_MS = 1_795_435_200_250


@pytest.mark.parametrize(
    ("schema", "value", "plain"),
    [
        (logical("bytes", "decimal", precision=9, scale=2), decimal.Decimal("-123.45"), -123.45),
        (
            {"type": "fixed", "name": "F", "size": 4} | logical("fixed", "decimal", precision=9),
            decimal.Decimal(7),
            7.0,
        ),
        (logical("int", "date"), dt.date(2026, 11, 23), "2026-11-23"),
        (logical("long", "timestamp-millis"), NOON, NOON_MS),
        (logical("long", "timestamp-micros"), NOON, NOON_MS),
        (logical("long", "local-timestamp-millis"), NOON.replace(tzinfo=None), NOON_MS),
        (logical("int", "time-millis"), dt.time(0, 1, 2), 62_000),
        (logical("long", "time-micros"), dt.time(0, 1, 2), 62_000),
        (logical("string", "uuid"), uuid.UUID(int=1), str(uuid.UUID(int=1))),
        (
            {"type": "fixed", "name": "U", "size": 16, "logicalType": "uuid"},
            uuid.UUID(int=5).bytes,
            str(uuid.UUID(int=5)),
        ),
        ("bytes", b"\x00\xff", None),
        ({"type": "fixed", "name": "F", "size": 2}, b"ab", None),
        (logical("string", "of-tomorrow"), "text", "text"),
    ],
    ids=lambda value: value.get("logicalType") if isinstance(value, dict) else None,
)
def test_values_of_logical_types_are_plain(schema, value, plain):
    assert reader(record(it=schema))(written(record(it=schema), {"it": value}), 0) == {"it": plain}


def test_schema_may_refer_to_preceding_schemas():
    inner = record("Inner", number="int") | {"namespace": "org.example"}
    outer = record("Outer", inner="org.example.Inner")
    whole = record("Outer", inner=inner)
    assert reader(inner, outer)(written(whole, {"inner": {"number": 5}}), 0) == {"inner": {"number": 5}}


def of_nulls(depth):
    """Return a schema whose values hold 2**depth nulls and take no bytes."""
    kind = "null"
    for level in range(depth):
        kind = record(f"R{level}", a=kind, b=f"R{level - 1}" if level else "null")
    return kind


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        (of_nulls(30), "its values hold more than 10000 values in 0 bytes"),
        (record(it=logical("bytes", "decimal", precision=10**30, scale=10**30)), "scale: .*got 1000000"),
        (record(it={"type": "fixed", "name": "F", "size": 10**30}), "size: .*got 1000000"),
        (record(it={"type": "fixed", "name": "F", "size": -1}), "size: .*got -1"),
        (record(it={"type": "fixed", "name": "F", "size": "2"}), "size: .*got '2'"),
        (record(**{"\ud800": "double"}), "not JSON: line 1, column 64: expected both surrogates"),
        (record(it={"type": "enum", "name": "E", "symbols": ["A" * 257]}), "a symbol has 257 characters"),
        ({"type": "record", "name": "N", "fields": [{"name": 5, "type": "int"}]}, "invalid name 5"),
        ({"type": "record", "name": ["N"], "fields": []}, "unhashable"),
    ],
    ids=lambda value: value[:20] if isinstance(value, str) else "",
)
def test_unusable_schema_is_rejected(schema, reason):
    with pytest.raises(UnusableSchema, match=reason):
        reader(schema)


def test_missing_fastavro_is_an_error_with_its_package(monkeypatch):
    monkeypatch.setattr("service.settings.code.find_spec", lambda _: None)
    with pytest.raises(ConfigurationError, match="needs the package fastavro") as caught:
        avro_reader([json.dumps("int").encode()])
    assert "online-perceptron[schemas]" in caught.value.hint


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"# no JSON", "not JSON: line 1, column 1: expected a value"),
        (b"\xff\xfe\x00", "not JSON: byte 0 is not UTF-8"),
        (b'{"name": "R"}', "not an Avro schema: type is missing"),
        (b'{"type": "array"}', "not an Avro schema: items is missing"),
        (b'"Elsewhere"', "unknown type: Elsewhere"),
        (b"17", "not an Avro schema: "),
        (b"[" * 100_000, "not JSON: line 1, column 202: expected values nested at most 200"),
    ],
)
def test_invalid_schema_is_rejected_with_reason(text, reason):
    with pytest.raises(UnusableSchema, match=f"^{reason}") as rejected:
        avro_reader([text])
    assert not re.search(r"[A-Z]\w+(Error|Exception)|UnknownType", str(rejected.value))
