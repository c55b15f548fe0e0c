from __future__ import annotations

import threading
import uuid
from contextlib import closing

import pytest

from service.errors import TopicMissing
from service.stream.protocol import Output
from service.stream.sqlite import MemoryTransport


def test_streams_of_different_names_are_separate():
    one, other = MemoryTransport(uuid.uuid4().hex), MemoryTransport(uuid.uuid4().hex)
    one.ensure_topics({"events": 1})
    with pytest.raises(TopicMissing):
        other.partition_count("events")


def test_streams_without_a_name_are_separate():
    with closing(MemoryTransport()) as one, closing(MemoryTransport()) as other:
        one.ensure_topics({"events": 1})
        with pytest.raises(TopicMissing):
            other.partition_count("events")


def test_a_named_stream_outlives_its_transports():
    name = uuid.uuid4().hex
    first = MemoryTransport(name)
    first.ensure_topics({"events": 1})
    first.produce([Output("events", b"key", b"value")])
    first.close()
    assert [record.value for record in MemoryTransport(name).read("events", 0)] == [b"value"]


def test_threads_take_turns():
    transport = MemoryTransport()
    transport.ensure_topics({"events": 1})

    def produce():
        for _ in range(200):
            transport.produce([Output("events", b"key", b"value")])
            assert transport.bounds("events", 0)[1] > 0

    threads = [threading.Thread(target=produce) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [record.offset for record in transport.read("events", 0)] == list(range(800))
    transport.close()
