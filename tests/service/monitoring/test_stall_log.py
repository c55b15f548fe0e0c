"""A loop that is stuck is in the log, though its own thread cannot write there."""

import logging
import time

from service.monitoring.health import Health, stalls_logged


def test_what_takes_too_long_is_logged_once_and_so_is_its_end(caplog):
    caplog.set_level(logging.INFO)
    health = Health(ready_timeout_seconds=0.01)
    with stalls_logged(health, look_seconds=0.005):
        with health.doing("a commit"):
            until(lambda: caplog.records)
            time.sleep(0.05)
        until(lambda: len(caplog.records) > 1)
    assert [record.getMessage() for record in caplog.records] == [
        "a commit has been under way for 0 s: not ready",
        "a commit has ended after about 0 s",
    ]


def until(holds):
    deadline = time.monotonic() + 10
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.002)
