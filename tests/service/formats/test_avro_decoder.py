import importlib.util
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.formats import avro, avro_decoder
from tests.service.formats.avro_values import reader, record, schemas, written

MIXED = record(
    text="string",
    number="long",
    flag="boolean",
    many={"type": "array", "items": ["null", "double", "string"]},
    names={"type": "map", "values": "float"},
    price={"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2},
    day={"type": "int", "logicalType": "date"},
    mark={"type": "fixed", "name": "M", "size": 2},
)
SAMPLE = {
    "text": "naïve",
    "number": -5,
    "flag": True,
    "many": [None, 1.5, "x"],
    "names": {"a": 0.5, "b": 2.0},
    "price": b"\x01\x00",
    "day": 20_000,
    "mark": b"ab",
}


def interpreted(schema):
    """Return what reads values of a schema without compiled code."""
    path = Path(avro_decoder.__file__).with_name("avro_decoder.py")
    spec = importlib.util.spec_from_file_location("interpreted_avro_decoder", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(avro, "Plan", module.Plan)
        patch.setattr(avro, "AvroDecoder", module.AvroDecoder)
        return reader(schema)


def said(read, data, start=0):
    """Return what was read, or the error."""
    try:
        return read(data, start)
    except (ValueError, RecursionError) as error:
        return type(error), str(error)


def changed(data):
    """Draw bytes that differ from `data` in a few places."""
    edits = st.lists(st.tuples(st.integers(0, len(data)), st.binary(max_size=3)), max_size=3)

    def edit(places):
        found = data
        for at, new in places:
            found = found[:at] + new + found[at + 1 :]
        return found

    return edits.map(edit)


READ, READ_INTERPRETED = reader(MIXED), interpreted(MIXED)


@given(changed(written(MIXED, SAMPLE)) | st.binary(max_size=40))
def test_compiled_and_interpreted_readers_agree(data):
    assert repr(said(READ, data)) == repr(said(READ_INTERPRETED, data))


@given(st.data())
def test_compiled_and_interpreted_code_agree_on_any_schema(data):
    schema, values = data.draw(schemas())
    sent = data.draw(changed(written(schema, data.draw(values))) | st.binary(max_size=40))
    assert repr(said(reader(schema), sent)) == repr(said(interpreted(schema), sent))


NULLS = record("Nulls", a="null", b="null", c="null")
MANY = {"type": "array", "items": NULLS}
MOST = (10_000 + 16 * 3) // 4
"""Records of three nulls, each an item and three values, that three bytes may hold."""


@pytest.mark.parametrize(("count", "is_read"), [(MOST, True), (MOST + 1, False)])
def test_compiled_and_interpreted_limits_agree(count, is_read):
    data = bytes([(count * 2) & 127 | 128, count * 2 >> 7, 0])
    found = [said(read, data) for read in (reader(MANY), interpreted(MANY))]
    assert found[0] == found[1]
    assert (type(found[0]) is list) == is_read
    assert is_read or found[0][1] == "more than 10048 values in 3 bytes"


@pytest.mark.parametrize(
    ("schema", "data"),
    [
        (record("N", next=["null", "N", "double"]), lambda depth: b"\x02" * depth + b"\x04" + bytes(8)),
        (record("N", next=["null", "N"]), lambda depth: b"\x02" * depth + b"\x00"),
        (
            record("N", next={"type": "map", "values": "N"}),
            lambda depth: b"\x02\x00" * depth + bytes(depth + 1),
        ),
    ],
)
def test_compiled_and_interpreted_code_stop_at_the_same_depth(schema, data):
    compiled, slow = reader(schema), interpreted(schema)
    found = [said(compiled, data(depth)) for depth in range(40, 60)]
    assert repr(found) == repr([said(slow, data(depth)) for depth in range(40, 60)])
    assert isinstance(found[0], dict)
    assert found[-1][0] is RecursionError


@pytest.mark.parametrize(
    ("schema", "data", "message"),
    [
        ("string", b"\x06ab", "expected 3 bytes at byte 1, got 2"),
        ("string", b"\x05", "expected -3 bytes"),
        ("long", b"\xff" * 11, "more than ten bytes"),
        ("int", b"\x02\x00", "1 bytes are left after"),
        ("boolean", b"\x02", "expected a boolean, got byte 2"),
        (["null", "int"], b"\x04", "expected one of 2 branches or symbols, got number 2"),
        ({"type": "array", "items": "null"}, b"\xfe\xff\xff\xff\x0f", "more than 10080 values in 5 bytes"),
        ({"type": "array", "items": "null"}, b"\x80\x7d" * 2 + b"\x00", "more than 10080 values in 5 bytes"),
        ({"type": "array", "items": "null"}, b"\xff" * 9 + b"\x01" * 2, "more than 10176 values in 11 bytes"),
        ("string", b"\x02\xff", "utf-8"),
        ({"type": "int", "logicalType": "date"}, b"\xfe\xff\xff\xff\x7f", "outside the years"),
    ],
)
def test_bytes_that_are_no_such_value_are_refused(schema, data, message):
    with pytest.raises(ValueError, match=message):
        reader(schema)(data, 0)


def test_a_start_behind_the_data_is_refused():
    with pytest.raises(ValueError, match="outside the data"):
        reader("int")(b"\x02", 5)


def test_names_of_maps_are_read_right_whatever_was_read_before():
    read = reader({"type": "map", "values": "int"})
    for names in (["a", "b"], ["b", "a"], ["ab", "b", "c"], ["é", "b"], ["e", "b"], []):
        value = {name: position for position, name in enumerate(names)}
        assert read(written({"type": "map", "values": "int"}, value), 0) == value
