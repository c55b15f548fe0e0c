"""One model over all partitions: its owner is killed, frozen and replaced, and everything is done once."""

import time

import pytest

from tests.chaos.presets import HTTP, SHARED, hours_ago_ms, sized
from tests.support.chaos_log import chaos_log
from tests.support.chaos_stream import DEADLINE_SECONDS, Feeder
from tests.support.exactly_once import assert_exactly_once
from tests.support.kafka_site import KAFKA_CLIENTS

pytestmark = [pytest.mark.kafka, pytest.mark.parametrize("place", KAFKA_CLIENTS, indirect=True)]
PARTITIONS = 4
LONG_WAIT_SECONDS = 3 * DEADLINE_SECONDS


def owns(member):
    """Return whether a member has the model."""
    return 'perceptron_pending_labels{partition="0"}' in member.metrics()


def split(members):
    """Return the owner and the one that stands by; nothing while that is not settled."""
    for owner, other in (members, members[::-1]):
        if owns(owner) and not owns(other) and "perceptron_standby_partitions 1.0" in other.metrics():
            return owner, other
    return ()


@pytest.mark.timeout(3600)
def test_records_are_processed_once_despite_killed_frozen_and_replaced_owners(open_chaos, start, force):
    stream = open_chaos(**sized(SHARED, force), partitions=PARTITIONS, standby=True)
    log = list(chaos_log(force.events, seed=17, start_ms=hours_ago_ms(100)))
    seconds = []
    with Feeder(stream, log) as feeder:
        feeder.allow_more(0.1)
        members = [start(stream, **HTTP).ready() for _ in range(2)]
        for kill in range(force.kills):
            members[0].eventually(lambda both=members: split(both), LONG_WAIT_SECONDS)
            feeder.allow_more(0.4 / force.kills)
            owner, other = split(members) or members
            before, began = stream.committed(), time.monotonic()
            is_frozen = kill % 4 == 3
            (owner.freeze if is_frozen else owner.kill)()
            feeder.allow_more(0.4 / force.kills)  # the owner may have committed all there was
            other.eventually(lambda done=before: stream.committed() != done, LONG_WAIT_SECONDS)
            seconds.append(time.monotonic() - began)
            if is_frozen:
                owner.thaw()
                owner.eventually(lambda one=owner: one.readiness() == 200, LONG_WAIT_SECONDS)
            else:
                owner = start(stream, **HTTP).ready()
            members = [other, owner]
        feeder.finish()
        assert [each.stop() for each in members] == [0, 0]
    assert start(stream, "--exit-at-end").wait() == 0
    print(dict(assert_exactly_once(stream)), f"taken over after {max(seconds):.1f} s at most")  # noqa: T201
