"""Workers of one service are killed, one after the other, while events flow: everything once."""

import os
import random
import re
import signal
import time

import pytest

from tests.chaos.presets import HTTP, SHARED, hours_ago_ms, sized
from tests.support.chaos_log import chaos_log
from tests.support.chaos_stream import Feeder
from tests.support.exactly_once import assert_exactly_once

WORKERS = 3


def pids(service):
    """Return the process id of each worker, as the service has logged them; of the latest, if several."""
    found = re.findall(r"worker (\d+) is process (\d+)", service.stderr)
    return {int(number): int(pid) for number, pid in found}


@pytest.mark.timeout(1800)
def test_whichever_worker_is_killed_the_others_go_on_and_everything_is_done_once(open_chaos, start, force):
    stream = open_chaos(**sized(SHARED, force), workers=WORKERS)
    log = list(chaos_log(force.events, seed=13, start_ms=hours_ago_ms(100)))
    moment = random.Random()
    with Feeder(stream, log) as feeder:
        service = start(stream, **HTTP).ready()
        for kill in range(force.kills):
            feeder.allow((kill + 1) / (force.kills + 1))
            before = stream.committed()
            service.eventually(lambda done=before: stream.committed() != done)
            time.sleep(moment.uniform(0, 0.2))
            number = moment.randrange(WORKERS) + 1
            killed = pids(service)[number]
            os.kill(killed, signal.SIGKILL)
            service.eventually(lambda which=number, gone=killed: pids(service)[which] != gone)
        feeder.finish()
        service.ready()
        assert service.stop() == 0
    assert service.stderr.count("killed by SIGKILL") == force.kills
    assert "Traceback" not in service.stderr
    assert start(stream, "--exit-at-end").wait() == 0
    print(dict(assert_exactly_once(stream)))  # noqa: T201
