import pytest

from tests.service.formats.avro_values import reader, record, written

NULLS = record("Nulls", a="null", b="null", c="null")
MANY = {"type": "array", "items": NULLS}
MOST = (10_000 + 16 * 3) // 4
"""Records of three nulls, each an item and three values, that three bytes may hold."""


@pytest.mark.parametrize(("count", "is_read"), [(MOST, True), (MOST + 1, False)])
def test_values_are_limited_by_the_length_of_the_record(count, is_read):
    data = bytes([(count * 2) & 127 | 128, count * 2 >> 7, 0])
    if is_read:
        assert len(reader(MANY)(data, 0)) == count
    else:
        with pytest.raises(ValueError, match="more than 10048 values in 3 bytes"):
            reader(MANY)(data, 0)


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
def test_values_nested_deeper_than_100_levels_are_rejected(schema, data):
    read = reader(schema)
    assert isinstance(read(data(40), 0), dict)
    for depth in (60, 250_000):
        with pytest.raises(RecursionError, match="100 levels"):
            read(data(depth), 0)


@pytest.mark.parametrize(
    ("schema", "data", "message"),
    [
        ("string", b"\x06ab", "expected 3 bytes at byte 1, got 2"),
        ("string", b"\x05", "expected -3 bytes"),
        ("long", b"\xff" * 11, "at most ten bytes"),
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
def test_bytes_that_do_not_fit_the_schema_are_rejected(schema, data, message):
    with pytest.raises(ValueError, match=message):
        reader(schema)(data, 0)


def test_start_after_the_data_is_rejected():
    with pytest.raises(ValueError, match="outside the data"):
        reader("int")(b"\x02", 5)


def test_map_names_are_independent_of_earlier_records():
    read = reader({"type": "map", "values": "int"})
    for names in (["a", "b"], ["b", "a"], ["ab", "b", "c"], ["é", "b"], ["e", "b"], []):
        value = {name: position for position, name in enumerate(names)}
        assert read(written({"type": "map", "values": "int"}, value), 0) == value
