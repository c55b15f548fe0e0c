"""The end of a group's input, where another member has the other partition."""

from types import SimpleNamespace
from unittest import mock

import pytest

from service.loop.context import Context
from service.loop.topics import EndOfInput
from service.stream.opening import open_transport
from service.stream.protocol import Output
from tests.service.building import SetClock, settings


@pytest.fixture
def stream(tmp_path):
    transport = open_transport(f"memory://{tmp_path.name}")
    transport.ensure_topics({"events": 2})
    transport.produce([Output("events", b"key", b"{}", partition=1) for _ in range(3)])
    yield transport
    transport.close()


def is_reached(stream, **committed):
    consumer = SimpleNamespace(at_end=lambda: True)
    with mock.patch.object(stream, "committed", return_value=committed):
        return is_at_end(stream, consumer)


def is_at_end(stream, consumer):
    growth = SimpleNamespace(n_partitions=2)
    context = Context(stream, settings(labels_topic="", group="group"), None, clock=SetClock())
    return EndOfInput(context, consumer, growth).is_reached([0])


def test_the_end_is_reached_when_the_others_have_committed_all_there_is(stream):
    assert is_reached(stream, events=3)


def test_the_end_is_not_reached_before_the_others_have_committed_all_there_is(stream):
    assert not is_reached(stream)
    assert not is_reached(stream, events=2)


def test_what_was_deleted_before_a_group_began_does_not_keep_it_from_the_end(stream):
    stream.delete_before("events", 1, 3)
    assert is_reached(stream)
