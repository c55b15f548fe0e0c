"""Connections hand over all that has come."""

import socket

import pytest
from kafka.errors import KafkaConnectionError

pytest.importorskip("service.transport.kafka.kafka_python.accelerated.records", reason="it is compiled")

from service.transport.kafka.kafka_python.accelerated.connections import received


@pytest.fixture
def ends():
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    with ours, theirs:
        yield ours, theirs


def test_what_has_come_is_received_in_a_few_calls(ends):
    ours, theirs = ends
    theirs.setblocking(False)
    sent = theirs.send(bytes(100_000))
    sizes = []

    def receive(n_bytes):
        sizes.append(n_bytes)
        return ours.recv(n_bytes)

    data, error = received(receive)
    assert (len(data), error) == (sent, None)
    assert len(sizes) <= 3


def test_nothing_has_come(ends):
    ours, _ = ends
    assert received(ours.recv) == (b"", None)


def test_the_end_of_a_connection_is_told_after_the_answer_that_came_with_it(ends):
    ours, theirs = ends
    theirs.send(b"refused")
    theirs.close()
    assert received(ours.recv) == (b"refused", None)
    data, error = received(ours.recv)
    assert data == b""
    assert isinstance(error, KafkaConnectionError)
    assert "socket disconnected" in str(error)


def test_what_broke_a_connection_is_told():
    def receive(_):
        raise ConnectionResetError(104, "reset")

    data, error = received(receive)
    assert data == b""
    assert isinstance(error, KafkaConnectionError)
    assert "reset" in str(error)
