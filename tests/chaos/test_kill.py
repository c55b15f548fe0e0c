"""`kill -9` at any moment, again and again, while events flow: everything once, the model bit for bit."""

import random
import time

import pytest

from tests.chaos.presets import (
    AMONG_EVENTS,
    APART,
    DECIDING,
    MIXTURE,
    SHARED,
    TIMING_OUT,
    WINDOWED,
    hours_ago_ms,
    sized,
)
from tests.service.poison import POISON
from tests.support.chaos_log import chaos_log
from tests.support.chaos_stream import Feeder
from tests.support.exactly_once import assert_exactly_once


@pytest.mark.timeout(1800)
@pytest.mark.parametrize(
    "labels",
    [AMONG_EVENTS, APART, MIXTURE, TIMING_OUT, SHARED, WINDOWED, DECIDING],
    ids=[
        "labels-among-events",
        "labels-apart",
        "auto",
        "labels-timing-out",
        "shared",
        "windows",
        "decisions",
    ],
)
def test_records_are_processed_once_despite_kills_at_random_moments(open_chaos, start, force, labels):
    stream = open_chaos(**sized(labels, force))
    log = list(chaos_log(force.events, seed=11, start_ms=hours_ago_ms(100)))
    if labels is WINDOWED:  # where a mapping reads records, a number is an id
        log = [each for each in log if each.value != POISON["number for an id"][0]]
    moment = random.Random()
    with Feeder(stream, log) as feeder:
        for kill in range(force.kills):
            feeder.allow((kill + 1) / (force.kills + 1))
            before = stream.committed()
            # Mostly a static member, who gets its partitions back without a rebalance.
            service = start(stream, kafka__instance_id="static" if (kill + 1) % 4 else "").serving()
            if kill % 4:  # amid its work; or else while it takes over
                service.eventually(lambda done=before: stream.committed() != done)
                time.sleep(moment.uniform(0, 0.12))
            else:
                time.sleep(moment.uniform(0, 0.6))
            service.kill()
        feeder.finish()
    assert start(stream, "--exit-at-end").wait() == 0
    print(dict(assert_exactly_once(stream)))  # noqa: T201
