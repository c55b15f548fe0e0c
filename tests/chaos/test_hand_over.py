"""Processes join, leave, freeze and thaw while events flow: everything once, by whoever it is done."""

import random
import time

import pytest

from tests.chaos.presets import APART, HTTP, hours_ago_ms, sized
from tests.support.chaos_log import chaos_log
from tests.support.chaos_stream import DEADLINE_SECONDS, Feeder
from tests.support.exactly_once import assert_exactly_once
from tests.support.kafka_site import KAFKA_CLIENTS

pytestmark = [pytest.mark.kafka, pytest.mark.parametrize("place", KAFKA_CLIENTS, indirect=True)]
PARTITIONS = 8
LONG_WAIT_SECONDS = 3 * DEADLINE_SECONDS
"""Two processes start and take over, and all partitions are restored, on a machine that others use."""


def grown(before, now):
    """Return whether every partition has been committed since."""
    return all(one < other for one, other in zip(before, now, strict=True))


@pytest.mark.timeout(5400)
def test_three_processes_killed_frozen_and_replaced_do_everything_once(open_chaos, start, force):
    stream = open_chaos(**sized(APART, force), partitions=PARTITIONS)
    log = list(chaos_log(force.events, seed=14, start_ms=hours_ago_ms(100)))
    moment = random.Random()
    ratio = 1 / (force.kills + force.freezes + 1)
    with Feeder(stream, log) as feeder:
        members = [start(stream, **HTTP).ready() for _ in range(3)]
        for kill in range(force.kills):
            killed, *others = members
            before = stream.committed()
            feeder.allow_more(ratio)
            if kill % 4:  # amid its work; or else while partitions move
                others[0].eventually(lambda done=before: grown(done, stream.committed()), LONG_WAIT_SECONDS)
            time.sleep(moment.uniform(0, 0.5))
            killed.kill()
            members = [*others, start(stream, **HTTP)]
            if kill % (force.kills // force.freezes) == 0:
                frozen, other, _ = (each.ready() for each in members)
                freeze_and_thaw(frozen, other, stream, feeder, ratio)
                assert frozen.stop() == 0
                members = [*members[1:], start(stream, **HTTP)]
        feeder.finish()
        assert [each.ready().stop() for each in members] == [0, 0, 0]
    assert start(stream, "--exit-at-end").wait() == 0
    print(dict(assert_exactly_once(stream)))  # noqa: T201


def freeze_and_thaw(frozen, other, stream, feeder, ratio):
    """Freeze a member amid its work until others do all of it; thawed, it becomes a member again."""
    before = stream.committed()
    feeder.allow_more(ratio / 5)
    other.eventually(lambda: stream.committed() != before)
    frozen.freeze()
    at_freeze = stream.committed()
    feeder.allow_more(ratio * 3 / 5)
    other.eventually(lambda: grown(at_freeze, stream.committed()))
    frozen.thaw()
    feeder.allow_more(ratio / 5)
    frozen.eventually(lambda: frozen.readiness() == 200)
