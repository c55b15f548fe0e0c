"""The broker dies, freezes, is cut off, lacks a topic: a word about it, and nothing lost or doubled."""

import subprocess
import sys
import time

import pytest
from kafka.admin import KafkaAdminClient

from tests.chaos.presets import AMONG_EVENTS, APART, HTTP, hours_ago_ms, sized
from tests.support.chaos_log import chaos_log
from tests.support.chaos_stream import Feeder
from tests.support.cutting_proxy import (
    ADD_PARTITIONS_TO_TXN,
    END_TXN,
    PRODUCE,
    TXN_OFFSET_COMMIT,
    CuttingProxy,
)
from tests.support.exactly_once import assert_exactly_once
from tests.support.kafka_place import KAFKA_CLIENTS
from tests.support.proxied_broker import proxied_broker

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(300)]

IMPATIENT = {"kafka__commit_timeout_seconds": 2, **HTTP}
TRIES_AGAIN = "trying again in"
# The commit that is under way may take its time; then a look for the broker, and nothing is handed over.
STOPS_WITHIN_SECONDS = IMPATIENT["kafka__commit_timeout_seconds"] + 8


@pytest.fixture(scope="module")
def proxy_and_broker(make_kafka_broker):
    """Return a broker of one's own, with a second listener that is reached through a proxy."""
    with proxied_broker(make_kafka_broker, CuttingProxy) as both:
        yield both


@pytest.fixture
def broker(proxy_and_broker):
    _, broker = proxy_and_broker
    yield broker
    if broker._process is None:  # a test that failed in the middle is no reason for the next ones to fail
        broker.start()


@pytest.fixture
def proxy(proxy_and_broker):
    return proxy_and_broker[0]


@pytest.fixture(params=KAFKA_CLIENTS)
def place(request, broker):
    return {"broker": f"kafka://{broker.address}", "kafka_client": request.param, **IMPATIENT}


def log_of(force, seed):
    return list(chaos_log(force.events // 4, seed=seed, start_ms=hours_ago_ms(100)))


def finish(stream, service, feeder):
    """Let it go on to the end, and hold what it did against the log."""
    feeder.finish()
    assert service.stop() == 0
    finish_after(stream, service)


def finish_after(stream, service):
    """Let another one do the rest."""
    assert start_again(service, stream) == 0
    assert_exactly_once(stream)


def start_again(service, stream):
    again = service.again("--exit-at-end", http="")
    try:
        return again.wait()
    finally:
        again.end()


def at_work(service, stream, feeder, ratio):
    """Let some be written, and wait until the service is amid it."""
    before = stream.committed()
    feeder.allow_more(ratio)
    service.eventually(lambda: stream.committed() != before)


def in_trouble(service, said):
    return service.readiness() == 503 and TRIES_AGAIN in service.stderr[said:]


def test_a_broker_that_is_killed_and_comes_back_loses_and_doubles_nothing(open_chaos, broker, start, force):
    stream = open_chaos(**sized(APART, force))
    with Feeder(stream, log_of(force, 21)) as feeder:
        service = start(stream).ready()
        at_work(service, stream, feeder, 0.5)
        said = len(service.stderr)
        broker.kill()
        service.eventually(lambda: in_trouble(service, said))
        broker.start()
        service.eventually(lambda: service.readiness() == 200)
        at_work(service, stream, feeder, 0.3)
        finish(stream, service, feeder)


def test_a_broker_that_is_frozen_and_thawed_loses_and_doubles_nothing(open_chaos, broker, start, force):
    stream = open_chaos(**sized(APART, force))
    with Feeder(stream, log_of(force, 22)) as feeder:
        service = start(stream).ready()
        at_work(service, stream, feeder, 0.5)
        said, began = len(service.stderr), time.monotonic()
        broker.pause()
        try:
            service.eventually(lambda: in_trouble(service, said))
            service.eventually(
                lambda: time.monotonic() - began > force.pause_seconds, force.pause_seconds + 9
            )
        finally:
            broker.resume()
        service.eventually(lambda: service.readiness() == 200)
        at_work(service, stream, feeder, 0.3)
        finish(stream, service, feeder)


def test_librdkafka_outlives_questions_that_a_frozen_broker_did_not_answer(broker):
    command = [sys.executable, "-m", "tests.support.group_asker", broker.address]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as asker:
        assert asker.stdout.readline() == "answered\n"
        broker.pause()
        try:
            print(file=asker.stdin, flush=True)
            assert asker.stdout.readline() == "3 not answered\n"
        finally:
            broker.resume()
        assert asker.communicate("\n\n", timeout=60)[0] == "answered\n"
        assert asker.returncode == 0


def test_connections_cut_in_the_middle_of_a_commit_lose_and_double_nothing(open_chaos, proxy, start, force):
    stream = open_chaos(**AMONG_EVENTS)
    steps = (ADD_PARTITIONS_TO_TXN, PRODUCE, TXN_OFFSET_COMMIT, END_TXN)
    with Feeder(stream, log_of(force, 23)) as feeder:
        service = start(stream, broker=f"kafka://127.0.0.1:{proxy.port}").ready()
        for step in steps:
            for answer_only in (False, True):
                before = proxy.cuts
                proxy.cut_at(step, answer_only=answer_only)
                feeder.allow_more(0.08)
                service.eventually(lambda done=before: proxy.cuts > done)
                # More than the feeder may be ahead: librdkafka has dealt with some cuts by itself by now.
                at_work(service, stream, feeder, 0.03)
        said = len(service.stderr)
        proxy.close_for_all()
        feeder.allow_more(0.05)
        service.eventually(lambda: in_trouble(service, said))
        proxy.open_again()
        service.eventually(lambda: service.readiness() == 200)
        finish(stream, service, feeder)


def test_a_stop_while_the_broker_is_gone_takes_seconds(open_chaos, broker, start, force):
    stream = open_chaos(**sized(APART, force))
    with Feeder(stream, log_of(force, 25)) as feeder:
        service = start(stream).ready()
        at_work(service, stream, feeder, 0.5)
        broker.kill()
        try:
            began = time.monotonic()
            assert service.stop() == 0
            assert time.monotonic() - began < STOPS_WITHIN_SECONDS
        finally:
            broker.start()
        feeder.finish()
        finish_after(stream, service)


def test_topics_that_are_missing_and_may_not_be_created_are_a_clear_error(open_chaos, start):
    stream = open_chaos(**AMONG_EVENTS)
    service = start(stream, create_topics=False)
    assert service.wait() == 1
    assert f"no topic '{stream.settings.predictions_topic}'" in service.stderr
    assert "create_topics" in service.stderr


def test_a_topic_deleted_while_events_flow_is_a_clear_error(open_chaos, broker, start, force):
    stream = open_chaos(**AMONG_EVENTS)
    with Feeder(stream, log_of(force, 24)) as feeder:
        service = start(stream).ready()
        at_work(service, stream, feeder, 0.5)
        admin = KafkaAdminClient(bootstrap_servers=broker.address)
        admin.delete_topics([stream.settings.predictions_topic])
        admin.close()
        feeder.allow_more(0.3)
        assert service.wait() == 1
    assert stream.settings.predictions_topic in service.stderr
