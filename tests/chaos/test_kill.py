"""`kill -9` at any moment, again and again, while events flow: everything once, the model bit for bit."""

import random
import time
from collections import Counter

import pytest

from tests.support.chaos_log import LABEL_TIMEOUT_SECONDS, chaos_log
from tests.support.chaos_stream import Feeder
from tests.support.exactly_once import assert_exactly_once

# Small batches and frequent snapshots, so that a kill may hit any phase.
BUSY = {
    "session_timeout_seconds": 1,
    "max_batch_records": 20,
    "commit_interval_seconds": 0.02,
    "snapshot_interval_records": 60,
}
AMONG_EVENTS = BUSY | {"labels_topic": "", "label_timeout_seconds": LABEL_TIMEOUT_SECONDS}
# In a topic of their own labels may overtake their events by any time: nothing is to expire. And the
# order in which they were taken must be there to the end.
APART = BUSY | {"label_timeout_seconds": 1e8, "snapshots_kept": 1_000_000}
HTTP = {"http": "127.0.0.1:0"}
HOURS_MS = 3_600_000


def yesterday_ms(hours):
    # Kafka deletes what is older than a week, and refuses what comes from the future.
    return int(time.time() * 1000) - hours * HOURS_MS


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("labels", [AMONG_EVENTS, APART], ids=["labels-among-events", "labels-apart"])
def test_killed_at_random_moments_it_does_everything_once(open_chaos, start, force, labels):
    stream = open_chaos(**labels)
    log = list(chaos_log(force.events, seed=11, start_ms=yesterday_ms(100)))
    moment, phases = random.Random(), Counter()
    began = time.monotonic()
    with Feeder(stream, log) as feeder:
        for kill in range(force.kills):
            feeder.allow((kill + 1) / (force.kills + 1))
            before = stream.committed()
            # Every other time a static member, who gets its partitions back without a rebalance.
            service = start(stream, kafka__instance_id="static" if kill % 2 else "").serving()
            if kill % 4:  # amid its work; or else while it takes over
                service.eventually(lambda done=before: stream.committed() != done)
                time.sleep(moment.uniform(0, 0.12))
            else:
                time.sleep(moment.uniform(0, 0.6))
            phases[service.kill()] += 1
        feeder.finish()
    assert start(stream, "--exit-at-end").wait() == 0
    print(f"{force.kills} kills in {time.monotonic() - began:.1f} s: {dict(phases)}")  # noqa: T201
    print(dict(assert_exactly_once(stream)))  # noqa: T201
    assert not phases["not running"]
