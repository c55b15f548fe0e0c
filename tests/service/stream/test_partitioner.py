from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from kafka.partitioner.default import murmur2

from service.stream.partitioner import partition_for_key


@given(st.binary(), st.integers(1, 1000))
def test_a_key_goes_where_kafka_python_would_send_it(key, partitions):
    assert partition_for_key(key, partitions) == (murmur2(key) & 0x7FFFFFFF) % partitions


@given(st.integers(1, 1000))
def test_a_record_without_a_key_goes_to_partition_0(partitions):
    assert partition_for_key(None, partitions) == 0
