import threading
import time
from functools import partial
from types import SimpleNamespace
from unittest import mock

import pytest
from confluent_kafka import KafkaError, KafkaException

from service.errors import TransportUnavailable
from service.stream.kafka.confluent.admin_requests import AdminRequests
from service.stream.kafka.confluent.errors import translated
from service.stream.kafka.confluent.producer import ConnectionLog, coordinator_answers
from service.stream.kafka.confluent.producer import do_with_coordinator as do

do_with_coordinator = partial(do, patience_seconds=0.01)


def soon():
    return time.monotonic() + 10


def test_finished_step_asks_no_broker_even_if_it_raises():
    def reject():
        raise KafkaException(KafkaError(KafkaError._FENCED))

    done = []
    do_with_coordinator(lambda: done.append(1), soon(), has_failure=pytest.fail, answers=pytest.fail)
    assert done == [1]
    with pytest.raises(KafkaException, match="_FENCED"):
        do_with_coordinator(reject, soon(), has_failure=pytest.fail, answers=pytest.fail)


def test_step_is_abandoned_once_the_coordinator_answers_others():
    may_end, told = threading.Event(), iter([False, False, True])
    with (
        pytest.raises(TransportUnavailable, match=r"events\[0\].*the client has not found"),
        translated("events[0]"),
    ):
        do_with_coordinator(may_end.wait, soon(), has_failure=lambda: True, answers=lambda: next(told))
    assert next(told, None) is None
    may_end.set()


@pytest.mark.parametrize(("has_failure", "responses"), [(False, True), (True, False)])
def test_step_is_awaited_while_connections_hold_or_no_broker_answers(has_failure, responses):
    may_end = threading.Event()
    threading.Timer(0.1, may_end.set).start()
    do_with_coordinator(may_end.wait, soon(), has_failure=lambda: has_failure, answers=lambda: responses)
    assert may_end.is_set()


@pytest.mark.parametrize(
    ("response", "responses"),
    [("a group", True), (TimeoutError(), False), (KafkaException(KafkaError(KafkaError._TRANSPORT)), False)],
)
def test_any_group_response_proves_the_coordinator_alive(response, responses):
    asked = {"group": mock.Mock(**{"result.side_effect": [response]})}
    admin = SimpleNamespace(describe_consumer_groups=lambda *_, **__: asked)
    cluster = SimpleNamespace(client=lambda *_: admin)
    assert coordinator_answers(cluster, "group") is responses


@pytest.mark.kafka
def test_coordinator_of_a_running_broker_answers(kafka_bootstrap):
    cluster, deadline = AdminRequests([kafka_bootstrap], {}), time.monotonic() + 30
    while not coordinator_answers(cluster, "group"):
        assert time.monotonic() < deadline
    cluster.close()


@pytest.mark.parametrize(
    ("words", "has_failure", "has_broken"),
    [
        (("CONFWARN", "producer-1", "anything"), False, False),
        (("FAIL", "producer-1", "Connect to ipv4#127.0.0.1:1 failed: Connection refused"), True, False),
        (("FAIL", "producer-1", "Disconnected while requests were under way"), True, True),
        (("REQTMOUT", "producer-1", "Timed out 1 in-flight"), True, True),
    ],
)
def test_failed_connection_differs_from_a_broken_one(words, has_failure, has_broken):
    log = ConnectionLog()
    log.log(3, "%s %s %s", *words)
    log.log(6, "%s %s %s", "CONFWARN", "producer-1", "anything")
    assert (log.has_failure, log.has_broken) == (has_failure, has_broken)
