import zlib
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perceptron_core import DamagedError
from perceptron_core.formats.packed import pack, seal
from service.formats.plain_values import iso_date, scaled
from service.formats.schema import (
    MAX_KEPT,
    Schema,
    Schemas,
    from_bytes,
    key_of,
    keys_of,
    message_indexes,
    name_of,
)
from service.messages.rejection import Reason, Rejection
from service.stream.protocol import Record


def test_schema_that_unpacks_to_an_excessive_size_is_rejected():
    bomb = zlib.compress(pack(["AVRO", [bytes(40 << 20)]]))
    with pytest.raises(DamagedError, match="unreadable schema"):
        from_bytes(seal(b"perceptron-schema", 1, bomb))


def key(schema_id):
    return b"\x00" + schema_id.to_bytes(4, "big")


def records(*ids, topic="events"):
    return [Record(topic, 0, n, 0, None, key(schema_id)) for n, schema_id in enumerate(ids)]


def schema(schema_id):
    return Schema("AVRO", (b"%d" % schema_id,))


def schemas(*ids):
    found = Schemas({"events"})
    found.add({key(each): schema(each) for each in ids})
    return found


def test_unknown_schemas_of_a_batch_are_missing():
    assert schemas(1).mark_used(records(3, 1, 2, 3)) == [key(2), key(3)]


def test_topics_without_schemas_need_none():
    assert schemas().mark_used(records(1, topic="labels")) == []


@given(st.lists(st.integers(0, 9), unique=True), st.lists(st.lists(st.integers(0, 9))))
def test_state_of_schemas_round_trips(ids, batches):
    found, restored = schemas(*ids), schemas(99)
    for batch in batches:
        found.mark_used(records(*batch))
    restored.restore(found.state())
    assert restored.state() == found.state()
    assert all(restored[key(each)] == schema(each) for each in ids)
    assert restored[key(99)] is None


def test_snapshot_holds_only_the_schemas_last_used():
    found = schemas(*range(MAX_KEPT + 2))
    found.mark_used(records(0))
    assert [each[0] for each in found.state()] == [*map(key, range(3, MAX_KEPT + 2)), key(0)]
    assert found[key(1)] is found[key(2)] is None


def test_readers_are_forgotten_with_their_schema():
    found = schemas(1, 2)
    readers = found.readers("avro")
    readers[key(1)], readers[key(2)] = "one", "two"
    found.add({key(1): schema(5)})
    assert readers == {key(2): "two"}
    found.restore([])
    assert readers == {}


def varint(number):
    """Encode as Protobuf and Avro encode signed numbers."""
    number = (number << 1) ^ (number >> 63)
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def record(value, headers=()):
    return Record("events", 0, 0, 0, None, value, headers)


@given(st.integers(0, 2**32 - 1), st.binary())
def test_id_of_a_value_is_found(schema_id, data):
    value = b"\x00" + schema_id.to_bytes(4, "big") + data
    assert (key_of(value), name_of(key_of(value))) == (value[:5], str(schema_id))


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (b'{"id": "a"}', "expected the magic byte 0 of the Schema Registry wire format, got byte 123"),
        (b"\x00\x00\x00", "ends within the schema's id: 3 bytes"),
        (b"\x01" * 17, "got byte 1"),
        (b"", "wire format, got nothing"),
    ],
)
def test_value_without_the_wire_format_is_rejected(value, message):
    with pytest.raises(Rejection, match=message) as caught:
        key_of(value)
    assert caught.value.reason is Reason.NO_SCHEMA


@given(st.lists(st.integers(0, 2000), min_size=1, max_size=5), st.binary())
def test_message_indexes_round_trip(indexes, data):
    written = varint(len(indexes)) + b"".join(map(varint, indexes))
    assert message_indexes(b"x" + written + data, 1) == (tuple(indexes), 1 + len(written))


@pytest.mark.parametrize("data", [b"", b"\x01", b"\xff" * 9, varint(101) + bytes(101), b"\x04\x00"])
def test_message_indexes_that_cannot_be_read_are_rejected(data):
    with pytest.raises(Rejection) as caught:
        message_indexes(data, 0)
    assert caught.value.reason is Reason.INVALID_DATA


def test_schema_keys_of_a_batch_come_from_its_records():
    seven = b"\x00\x00\x00\x00\x07"
    batch = [
        record(seven + b"a"),
        record(seven + b"b", (("trace", b"1"),)),
        *map(record, [b"{}", b"\x00\x00", None, b""]),
    ]
    assert keys_of(batch) == {seven}


@given(st.integers(-(10**30), 10**30), st.integers(-5, 40))
def test_decimal_is_the_nearest_double(unscaled, scale):
    digits = unscaled.to_bytes(16, "big", signed=True)
    assert scaled(digits, scale) == float(Decimal(unscaled).scaleb(-scale))


def test_decimal_of_very_many_digits_is_not_finite():
    assert scaled(b"\x7f" * 5000, 2) == float("inf")


@pytest.mark.parametrize("days", [-(2**62), 2**62, 3_000_000])
def test_impossible_date_is_rejected(days):
    with pytest.raises(ValueError, match="outside the years"):
        iso_date(days)
