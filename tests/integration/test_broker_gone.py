"""A broker that is frozen or dead: the service says so within seconds, and leaves within seconds."""

import signal
import time

import pytest

from tests.integration.claims import numbered
from tests.support.kafka_place import KAFKA_CLIENTS

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(300)]

NOTICES_WITHIN_SECONDS = 15.0
"""3 s are the bound, and what an idle machine takes; one with six busy processes took 11 s."""

LEAVES_WITHIN_SECONDS = 6.5
"""4.5 s are the bound."""


@pytest.fixture(params=KAFKA_CLIENTS)
def kafka_client(request):
    return request.param


@pytest.fixture(scope="module")
def broker(make_kafka_broker):
    with make_kafka_broker() as started:
        yield started


@pytest.fixture
def url(broker):
    return f"kafka://{broker.address}"


@pytest.fixture
def frozen(broker):
    """Freeze the broker when called; it goes on at the end."""
    yield broker.pause
    broker.resume()
    broker.wait_until_ready()


def seconds_until(claim, limit=30.0):
    began = time.monotonic()
    while not claim():
        assert time.monotonic() - began < limit
        time.sleep(0.05)
    return time.monotonic() - began


@pytest.mark.parametrize("is_busy", [True, False], ids=["busy", "idle"])
def test_a_frozen_broker_is_told_and_left_within_seconds(stream, serve, frozen, is_busy):
    stream.create()
    process = serve(max_batch_records=5 if is_busy else 1000).ready()
    if is_busy:
        stream.produce(numbered(5))
        process.eventually(lambda: process.metric("perceptron_predictions_total") > 0)
    else:
        time.sleep(1)
    frozen()
    seconds = seconds_until(lambda: process.get("/readyz").status_code == 503)
    reason = process.get("/readyz").json()["reason"]
    print(f"not ready after {seconds:.1f} s: {reason}")  # noqa: T201
    assert reason
    assert seconds < NOTICES_WITHIN_SECONDS
    began = time.monotonic()
    assert process.stop() == 0
    print(f"left after {time.monotonic() - began:.1f} s")  # noqa: T201
    assert time.monotonic() - began < LEAVES_WITHIN_SECONDS


def test_told_twice_it_leaves_at_once(stream, serve, frozen):
    stream.create()
    process = serve(max_batch_records=5).ready()
    stream.produce(numbered(5))
    process.eventually(lambda: process.metric("perceptron_predictions_total") > 0)
    frozen()
    time.sleep(1)
    process.signal(signal.SIGTERM)
    time.sleep(0.3)
    began = time.monotonic()
    assert process.stop() == 0
    assert time.monotonic() - began < 3  # LEAVE_SECONDS: 4
