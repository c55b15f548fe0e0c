"""One of three brokers dies, restarts, freezes, or two do: nothing lost or doubled, and no long silence."""

import time

import pytest

from tests.chaos.presets import APART, HTTP, hours_ago_ms, sized
from tests.support.chaos_log import chaos_log
from tests.support.chaos_stream import Feeder
from tests.support.exactly_once import assert_exactly_once
from tests.support.kafka_broker import KafkaBroker
from tests.support.kafka_place import KAFKA_CLIENTS

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(900)]

N_EVENTS = 12_000
# From a broker's first sign of life to the end of its recovery, other brokers wait for it.
SETTLED_SECONDS = 2.0
RESUMES_WITHIN_SECONDS = 3.0
"""After the brokers have shared out what the dead one led."""
LONG_WAIT_SECONDS = 120.0


@pytest.fixture(params=KAFKA_CLIENTS)
def place(request, three_brokers):
    return {"broker": f"kafka://{three_brokers.address}", "kafka_client": request.param, **HTTP}


@pytest.fixture
def settings(force):
    """Return settings with a session, and so a commit, that outlives the choice of other leaders.

    That takes the session of a broker; if it is the active controller, 2 to 4 s more, for the next one counts
    the sessions from its own start.
    """
    return sized(APART, force) | {"session_timeout_seconds": 20}


def grown(before, now):
    """Return whether every partition has been committed since."""
    return len(now) == len(before) and all(one < other for one, other in zip(before, now, strict=True))


def at_work(stream, service, feeder, ratio):
    """Let some be written, and wait until the service is amid it."""
    before = stream.committed()
    feeder.allow_more(ratio)
    service.eventually(lambda: grown(before, stream.committed()), LONG_WAIT_SECONDS)


def finish(stream, service, feeder):
    feeder.finish()
    assert service.stop() == 0
    again = service.again("--exit-at-end", http="")
    assert again.wait(LONG_WAIT_SECONDS) == 0
    assert_exactly_once(stream)


def log_of(seed):
    return list(chaos_log(N_EVENTS, seed=seed, start_ms=hours_ago_ms(100)))


def first_commits(stream, moment):
    """Return when each partition was first committed after this moment, in seconds after it."""
    commits = [
        stream.records(stream.settings.checkpoints_topic, each) for each in range(stream.settings.partitions)
    ]
    return [
        min(r.timestamp_ms / 1000 for r in records if r.timestamp_ms / 1000 > moment) - moment
        for records in commits
    ]


def test_a_killed_broker_causes_no_longer_silence_than_the_brokers_need(
    open_chaos, three_brokers, start, settings
):
    stream = open_chaos(**settings | {"max_batch_records": 20})
    led_anew = []
    with Feeder(stream, log_of(41), chunk=1000) as feeder:
        service = start(stream).ready()
        for number, broker in three_brokers.brokers.items():
            at_work(stream, service, feeder, 0.3)
            broker.kill()
            three_brokers.wait_until_led_without(number)
            led_anew.append(time.time())
            before = stream.committed()
            service.eventually(lambda done=before: grown(done, stream.committed()))
            broker.start()
            time.sleep(SETTLED_SECONDS)
        finish(stream, service, feeder)
    silences = [first_commits(stream, moment) for moment in led_anew]
    print(silences)  # noqa: T201
    assert max(map(max, silences)) < RESUMES_WITHIN_SECONDS


@pytest.mark.parametrize("end", [KafkaBroker.stop, KafkaBroker.pause], ids=["restarted", "frozen"])
def test_brokers_that_fail_one_after_the_other_lose_and_double_nothing(
    open_chaos, three_brokers, start, settings, end
):
    stream = open_chaos(**settings)
    with Feeder(stream, log_of(42)) as feeder:
        service = start(stream).ready()
        for number, broker in three_brokers.brokers.items():
            at_work(stream, service, feeder, 0.2)
            end(broker)
            feeder.allow_more(0.1)
            three_brokers.wait_until_led_without(number)
            three_brokers.ensure_running()
            time.sleep(SETTLED_SECONDS)
        finish(stream, service, feeder)


def test_with_one_of_three_brokers_left_nothing_is_written_and_nothing_lost_or_doubled(
    open_chaos, three_brokers, start, settings
):
    """At least two have to take a record."""
    stream = open_chaos(**settings)
    with Feeder(stream, log_of(43)) as feeder:
        service = start(stream).ready()
        at_work(stream, service, feeder, 0.5)
        killed = list(three_brokers.brokers.values())[:2]
        for broker in killed:
            broker.kill()
        service.eventually(lambda: service.readiness() == 503)
        for broker in killed:
            broker.launch()
        three_brokers.ensure_running()
        service.eventually(lambda: service.readiness() == 200, LONG_WAIT_SECONDS)
        finish(stream, service, feeder)
