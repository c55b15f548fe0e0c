from pathlib import Path

import pytest
from google.protobuf import json_format
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass
from hypothesis import given
from hypothesis import strategies as st

from service.formats.plain_values import TooManyValues, max_values
from service.formats.protobuf import ProtobufFile, UnusableSchema, ValueCounter
from service.messages.rejection import Reason, Rejection
from tests.support.protobuf_schemas import compiled

PROTO = Path(__file__).with_name("shop.proto").read_text(encoding="utf-8")
PARTS = compiled(PROTO)
FILE = ProtobufFile(PARTS)


def message_class(parts, name):
    pool = DescriptorPool()
    for part in parts:
        pool.Add(FileDescriptorProto.FromString(part))
    return GetMessageClass(pool.FindMessageTypeByName(name))


Order = message_class(PARTS, "shop.Order")
texts = st.text(max_size=5)
lines = st.fixed_dictionaries({"sku": texts, "count": st.integers(-(2**31), 2**31 - 1)})
orders = st.fixed_dictionaries(
    {
        "id": texts,
        "total": st.floats(allow_nan=False, allow_infinity=False),
        "state": st.sampled_from(["OPEN", "PAID"]),
        "lines": st.lists(lines, max_size=3),
        "counts": st.dictionaries(texts, st.integers(-(2**63), 2**63 - 1), max_size=3),
        "states": st.lists(st.sampled_from(["OPEN", "PAID"]), max_size=3),
        "by_number": st.dictionaries(st.integers(0, 9).map(str), lines, max_size=2),
    },
    optional={"label": st.booleans(), "left": texts},
)
EMPTY = {
    "id": "",
    "total": 0.0,
    "state": "OPEN",
    "lines": [],
    "counts": {},
    "raw": None,
    "states": [],
    "by_number": {},
}


@given(orders)
def test_values_written_by_protobuf_are_read_unchanged(order):
    message = json_format.ParseDict(
        order | {"counts": {k: str(v) for k, v in order["counts"].items()}}, Order()
    )
    assert FILE.reader_of("shop.Order")(message.SerializeToString()) == order | {"raw": None}


def read(**fields):
    return FILE.reader_of("shop.Order")(Order(**fields).SerializeToString())


def test_unset_field_has_its_default_only_without_presence():
    assert read() == EMPTY


def test_well_known_messages_become_values_and_other_messages_objects():
    message = Order()
    message.at.FromMilliseconds(1_795_435_200_250)
    message.took.FromMilliseconds(1500)
    message.weight.value = 2.5
    message.extra.update({"a": 1})
    message.price.value, message.price.scale = (-12345).to_bytes(3, "big", signed=True), 2
    message.parent.id = "p"
    found = FILE.reader_of("shop.Order")(message.SerializeToString())
    assert found["at"] == 1_795_435_200_250
    assert (found["took"], found["weight"]) == ({"seconds": 1, "nanos": 500_000_000}, {"value": 2.5})
    assert found["price"] == -123.45
    assert found["extra"]["fields"] == {"a": {"number_value": 1.0}}
    assert found["parent"] == EMPTY | {"id": "p"}


def test_unknown_enum_number_stays_a_number():
    assert FILE.reader_of("shop.Order")(b"\x20\x09")["state"] == 9


def test_messages_are_found_by_their_indexes():
    assert FILE.reader_at((0,))(Order(id="a").SerializeToString())["id"] == "a"
    assert FILE.reader_at((0, 0))(b"\x0a\x01s") == {"sku": "s", "count": 0}
    assert FILE.reader_at((1,))(b"\x08\x01") == {"flag": True}
    with pytest.raises(Rejection, match="no message at"):
        FILE.reader_at((7,))


def test_bytes_that_are_not_a_message_are_rejected():
    with pytest.raises(Rejection, match=r"expected a message shop\.Order, got other bytes$") as caught:
        FILE.reader_of("shop.Order")(b"\xff\xff")
    assert caught.value.reason is Reason.INVALID_DATA


def test_undefined_type_makes_the_schema_unusable():
    file = FileDescriptorProto(name="a.proto", syntax="proto3", dependency=["company/types.proto"])
    file.message_type.add(name="M").field.add(name="t", number=1, type=11, type_name=".company.Type", label=1)
    with pytest.raises(UnusableSchema, match="contradict each other"):
        ProtobufFile([file.SerializeToString()])


def test_files_import_each_other_by_reference_name():
    other = 'syntax = "proto3"; package o; message Inner { int32 n = 1; }'
    main = 'syntax = "proto3"; import "o/inner.proto"; message M { o.Inner inner = 1; }'
    found = ProtobufFile(compiled(main, {"o/inner.proto": other})).reader_at((0,))(b"\x0a\x02\x08\x05")
    assert found == {"inner": {"n": 5}}


@pytest.mark.parametrize(
    ("package", "message", "fields"),
    [
        ("google.protobuf", "Timestamp", "string seconds = 1; int32 nanos = 2;"),
        ("google.protobuf", "Timestamp", "int64 seconds = 1;"),
        ("google.protobuf", "Timestamp", "repeated int64 seconds = 1; int32 nanos = 2;"),
        ("confluent.type", "Decimal", "string value = 1;"),
    ],
)
def test_message_with_a_known_name_and_other_fields_is_rejected(package, message, fields):
    messages = f"message {message} {{ {fields} }} message M {{ {message} t = 1; }}"
    parts = compiled(f'syntax = "proto3"; package {package}; {messages}')
    with pytest.raises(UnusableSchema, match="contradict each other"):
        ProtobufFile(parts)


def linked(count):
    """Return a file of messages, each of which has the next one as a field."""
    file = FileDescriptorProto(name="a.proto", syntax="proto3")
    for number in range(count):
        message = file.message_type.add(name=f"M{number}")
        message.field.add(name="n", number=1, type=11, type_name=f".M{(number + 1) % count}", label=1)
    return ProtobufFile([file.SerializeToString()])


def test_messages_may_be_nested_two_hundred_deep_and_no_deeper():
    assert linked(200).reader_at((0,))(b"\x0a\x02\x0a\x00") == {"n": {"n": {}}}
    for file in (linked(201), linked(3000)):
        with pytest.raises(UnusableSchema, match="more than 200 deep"):
            file.reader_at((0,))


@pytest.mark.parametrize(
    "name",
    ["our/options.proto", "google/" + "a/" * 500_000 + "b.proto", "google/../os.proto", "google/a\0.proto"],
)
def test_unknown_import_counts_as_options(name):
    file = FileDescriptorProto(name="a.proto", syntax="proto3", dependency=[name])
    file.message_type.add(name="M")
    assert ProtobufFile([file.SerializeToString()]).reader_at((0,))(b"") == {}


def test_long_defaults_and_enum_names_are_rejected():
    default = f'syntax = "proto2"; message M {{ optional string s = 1 [default = "{"x" * 257}"]; }}'
    enum = f'syntax = "proto3"; enum E {{ {"X" * 257} = 0; }} message M {{ repeated E e = 1; }}'
    for text in (default, enum):
        with pytest.raises(UnusableSchema, match="has 257 characters, more than 256"):
            ProtobufFile(compiled(text)).reader_at((0,))


POOL = DescriptorPool()
for part in PARTS:
    POOL.AddSerializedFile(part)
COUNTER = ValueCounter(POOL.FindMessageTypeByName("shop.Order"), POOL)


def count(data):
    return COUNTER._count(data, 1 << 40)


def counted(message):
    """Count the fields of a message and of those in it."""
    lists = [*message.lines, *([message.parent] if message.HasField("parent") else [])]
    inner = sum(counted(each) if each.DESCRIPTOR.name == "Order" else 2 for each in lists)
    return 17 + inner + 2 * len(message.counts) + 4 * len(message.by_number)


@given(orders, texts)
def test_values_of_a_message_are_counted_exactly(order, text):
    message = Order()
    for inner in (message, message.parent):
        inner.id, inner.left = text, text
        for line in order["lines"]:
            inner.lines.add(**line)
        inner.counts.update(order["counts"])
        for number, line in order["by_number"].items():
            inner.by_number[int(number)].sku = line["sku"]
    assert count(message.SerializeToString()) == counted(message)


@given(st.binary(max_size=200))
def test_invalid_bytes_pass_the_value_counter(data):
    COUNTER.check(data)


@pytest.mark.parametrize("data", [b"\xff" * 1_000_000, b"\x0b" * 100_000, b"\x2a\xff\xff\xff\x7f" * 10_000])
def test_hostile_bytes_are_decoded_in_bounded_time(data):
    COUNTER.check(data)


def test_more_values_than_the_length_allows_are_rejected():
    n_lines = max_values(1000) // 2
    assert 17 + 2 * n_lines > max_values(2 * n_lines) or COUNTER.check(b"\x2a\x00" * n_lines) is None
    with pytest.raises(TooManyValues, match="more than 1048576 values in 1000000 bytes"):
        ValueCounter(POOL.FindMessageTypeByName("shop.Order"), POOL).check(b"\x72\x00" * 500_000)
