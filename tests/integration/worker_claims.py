"""What `serve --workers N` promises on any stream; `test_workers.py` says on which."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.integration.claims import ids, numbered

PARTITIONS = 4
SLOW = {"max_batch_records": 10}
"""So that there is time to interfere: a commit for every few events."""
SHORT_SESSION = {"session_timeout_seconds": 3}


class MembershipClaims:
    """Claims that the stream's group has a part in; to be inherited by a test class for each stream."""

    def test_they_share_the_partitions_and_speak_as_one(self, stream, serve):
        events = numbered(2)
        stream.create(PARTITIONS)
        process = serve(workers=2).ready()
        process.eventually(lambda: process.metric("perceptron_rebalances_total") >= 2)
        stream.produce(events, partitions=PARTITIONS)
        process.eventually(lambda: process.metric("perceptron_predictions_total") == len(events))
        assert process.partitions() == {str(partition) for partition in range(PARTITIONS)}
        assert process.metric("perceptron_margin_bucket", le="+Inf") == len(events)
        assert process.metric("perceptron_workers") == len(process.workers) == 2
        assert_well_formed(process.get("/metrics").text)
        assert process.get("/livez").status_code == 200
        models = [process.get(f"/model?partition={partition}").json() for partition in range(PARTITIONS)]
        assert [model["partition"] for model in models] == list(range(PARTITIONS))
        assert sum(model["counts"]["predictions"] for model in models) == len(events)
        assert process.get("/state").json()["partitions"] == list(range(PARTITIONS))
        assert process.stop() == 0
        assert f"stopped: {len(events)} events, {len(events)} labelled" in process.stderr
        assert_each_once(stream, events)

    @pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
    def test_a_signal_to_all_of_the_group_ends_each_after_a_commit(self, stream, serve, number, code):
        events = numbered(6)
        stream.create(PARTITIONS)
        stream.produce(events, partitions=PARTITIONS)
        process = serve(workers=2, **SLOW).ready()
        process.eventually(lambda: len(stream.answers()) > 0)
        process.signal_group(number)
        assert process.wait() == code
        done = len(stream.answers())
        assert 0 < done < len(events), "it was to be stopped on the way"
        told = int(re.search(r"stopped: (\d+) events", process.stderr)[1])
        # Who is stuck in a commit for 4 s leaves without an answer, and cannot count it.
        assert told == done or (told < done and "leaving at once" in process.stderr)
        assert "Traceback" not in process.stderr
        assert not any(map(is_alive, process.workers.values()))
        assert serve("--exit-at-end", workers=2).wait() == 0
        assert_each_once(stream, events)

    def test_one_that_is_killed_is_started_again_and_nothing_is_lost_or_doubled(self, stream, serve):
        events = numbered(2)
        stream.create(PARTITIONS)
        stream.produce(events, partitions=PARTITIONS)
        process = serve(workers=2, **SLOW, **SHORT_SESSION).ready()
        process.eventually(lambda: process.metric("perceptron_predictions_total") > 0)
        before = dict(process.metrics())
        killed = process.workers[2]
        os.kill(killed, signal.SIGKILL)
        process.eventually(lambda: process.workers[2] != killed)
        process.eventually(lambda: process.metric("perceptron_worker_restarts_total") == 1)
        process.ready()
        now = process.metrics()
        for name in ("perceptron_rebalances_total", "perceptron_process_duration_seconds_count"):
            assert now[name, frozenset()] >= before[name, frozenset()]
        assert "killed by SIGKILL" in process.stderr
        process.eventually(lambda: len(stream.answers()) >= len(events))
        process.eventually(lambda: len(process.partitions()) == PARTITIONS)
        assert process.metric("perceptron_predictions_total") == len(events)
        assert process.stop() == 0
        assert_each_once(stream, events)

    def test_when_the_parent_is_killed_they_commit_and_leave(self, stream, serve):
        events = numbered(6)
        stream.create(PARTITIONS)
        stream.produce(events, partitions=PARTITIONS)
        process = serve(workers=2, **SLOW).ready()
        process.eventually(lambda: len(stream.answers()) > 0)
        orphans = list(process.workers.values())
        assert len(orphans) == 2
        process.kill()
        wait_until_gone(orphans)
        assert "Traceback" not in process.stderr
        assert len(stream.answers()) < len(events), "it was to be killed on the way"
        assert serve("--exit-at-end", workers=2).wait() == 0
        assert_each_once(stream, events)


class WorkerClaims(MembershipClaims):
    """All claims."""

    @pytest.mark.parametrize("workers", [2, 6])
    def test_they_end_when_everything_is_processed(self, stream, serve, workers):
        events = numbered(2)
        stream.create(PARTITIONS)
        stream.produce(events, partitions=PARTITIONS)
        process = serve("--exit-at-end", workers=workers)
        assert process.wait() == 0, process.stderr
        assert f"stopped: {len(events)} events" in process.stderr
        assert "Traceback" not in process.stderr
        assert_each_once(stream, events)

    def test_an_error_that_does_not_pass_ends_all_and_is_told_once(self, stream, serve):
        stream.create(PARTITIONS)
        stream.produce([b"junk"] * 200, partitions=PARTITIONS)
        process = serve(workers=2, max_rejected_ratio=0.5, rejected_window=10)
        assert process.wait() == 1
        (error,) = process.errors
        assert "max_rejected_ratio" in error
        assert "--max-rejected-ratio" in error
        assert "Traceback" not in process.stderr
        assert stream.records("dead-letters") == []
        assert not any(map(is_alive, process.workers.values()))

    def test_more_of_them_than_partitions_are_ready_all_the_same(self, stream, serve):
        stream.create(1)
        process = serve(workers=3).ready()
        assert process.get("/readyz").json() == {"state": "ready", "reason": ""}
        stream.produce(numbered(1))
        process.eventually(lambda: process.metric("perceptron_predictions_total") == 1250)
        assert process.partitions() == {"0"}
        assert process.stop() == 0


def assert_each_once(stream, events) -> None:
    assert Counter(answer["id"] for answer in stream.answers()) == Counter(ids(events))


def assert_well_formed(text: str) -> None:
    """Find every series once; where there is a promtool, let it judge too."""
    samples = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
    series = [(sample.name, frozenset(sample.labels.items())) for sample in samples]
    assert len(series) == len(set(series))
    if promtool := shutil.which("promtool"):
        checked = subprocess.run(
            [promtool, "check", "metrics"], input=text.encode(), capture_output=True, check=False
        )
        assert (checked.returncode, checked.stdout + checked.stderr) == (0, b"")


def is_alive(pid: int) -> bool:
    """Return whether there is such a process; one that has ended and that nobody has asked for is not."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0] != "Z"
    return False


def wait_until_gone(pids: list[int], within_seconds: float = 30.0) -> None:
    deadline = time.monotonic() + within_seconds
    while any(map(is_alive, pids)):
        assert time.monotonic() < deadline, "they are still there"
        time.sleep(0.05)
