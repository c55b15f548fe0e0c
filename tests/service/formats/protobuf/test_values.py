import pytest
from google.protobuf.descriptor_pool import DescriptorPool
from hypothesis import given
from hypothesis import strategies as st

from service.formats.plain_values import TooManyValues, most_values
from service.formats.protobuf import ValueCounter
from tests.service.formats.protobuf.test_messages import PARTS, Order, orders, texts

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
def test_the_values_of_a_message_are_counted_as_they_are(order, text):
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
def test_bytes_that_are_no_message_are_counted_or_left_to_the_parser(data):
    COUNTER.check(data)


@pytest.mark.parametrize("data", [b"\xff" * 1_000_000, b"\x0b" * 100_000, b"\x2a\xff\xff\xff\x7f" * 10_000])
def test_hostile_bytes_end_soon(data):
    COUNTER.check(data)


def test_more_values_than_the_length_allows_are_refused():
    n_lines = most_values(1000) // 2
    assert 17 + 2 * n_lines > most_values(2 * n_lines) or COUNTER.check(b"\x2a\x00" * n_lines) is None
    with pytest.raises(TooManyValues, match="more than 1048576 values in 1000000 bytes"):
        ValueCounter(POOL.FindMessageTypeByName("shop.Order"), POOL).check(b"\x72\x00" * 500_000)
