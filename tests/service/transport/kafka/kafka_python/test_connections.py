"""Connections close their sockets, look them up without a system call, and name brokers that are silent."""

import contextlib
import selectors
import socket

import pytest
from kafka.net.inet import create_connection
from kafka.net.selector import NetworkSelector
from kafka.producer.record_accumulator import RecordAccumulator
from kafka.producer.sender import Sender
from kafka.producer.transaction_manager import TransactionManager

from service.transport.kafka.kafka_python.connections import Connections, Selector


@pytest.fixture
def ends():
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    with ours, theirs:
        yield ours, theirs


@pytest.fixture
def dead_address():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return f"127.0.0.1:{server.getsockname()[1]}"


class Quiet(socket.socket):
    """A socket that may not be described."""

    def __repr__(self):
        raise AssertionError("described")


def test_a_socket_that_is_not_registered_is_not_described():
    with Quiet() as unknown, Selector() as selector, pytest.raises(KeyError):
        selector.get_key(unknown)


def test_a_key_says_what_a_socket_was_registered_with_last(ends):
    ours, theirs = ends
    with Selector() as selector:
        selector.register(ours, selectors.EVENT_READ, "first")
        selector.register(theirs, selectors.EVENT_READ, "other")
        selector.modify(ours, selectors.EVENT_WRITE, "then")
        assert selector.get_key(ours)[2:] == (selectors.EVENT_WRITE, "then")
        assert selector.get_key(theirs)[2:] == (selectors.EVENT_READ, "other")
        selector.unregister(ours)
        with pytest.raises(KeyError):
            selector.get_key(ours)


def test_a_socket_that_was_closed_is_still_found(ends):
    ours, _ = ends
    with Selector() as selector:
        selector.register(ours, selectors.EVENT_READ, "kept")
        ours.close()
        assert selector.get_key(ours).data == "kept"
        selector.unregister(ours)


@pytest.mark.parametrize("n_polls", [1, 2], ids=["connecting", "connected"])
def test_no_socket_is_left_open_when_connecting_is_given_up(n_polls):
    network = NetworkSelector(selector=Selector)
    opened = []

    async def connect():
        opened.append(await create_connection(network, *server.getsockname()))
        await network.wait_read(opened[-1])

    with socket.create_server(("127.0.0.1", 0)) as server:
        network.call_soon(connect)
        for _ in range(n_polls):
            network.poll(timeout_ms=1000)
        sockets = [each.fileobj for each in network._selector.get_map().values()]
        assert len(sockets) == 2  # one of them wakes the loop
        network.close()
    assert [each.fileno() for each in sockets] == [-1, -1]
    network.close()


def test_a_request_to_a_coordinator_that_is_gone_is_kept_for_the_next_one(dead_address):
    with contextlib.closing(Connections({}, bootstrap_servers=dead_address)) as client:
        transactions = TransactionManager(transactional_id="events-0")
        transactions._transaction_coordinator = client.cluster.bootstrap_brokers()[0].node_id
        wanted = transactions.initialize_transactions()
        sender = Sender(client, client.cluster, RecordAccumulator(), transaction_manager=transactions)
        sender._maybe_send_pending_request()
        kept = [request.result for *_, request in transactions._pending_requests]
    assert wanted in kept
    assert len(kept) == 2  # the other one looks for the coordinator


def test_brokers_whose_connection_broke_are_named(dead_address):
    with contextlib.closing(Connections({}, bootstrap_servers=dead_address)) as client:
        client.cluster.is_bootstrap = lambda _: False
        assert client.silent_brokers() == []
        assert not client.await_ready(client.cluster.bootstrap_brokers()[0].node_id)
        assert client.silent_brokers() == [dead_address]
        assert client.n_ended == 1
