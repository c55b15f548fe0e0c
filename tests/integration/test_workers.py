"""Several processes as one service, on SQLite and on a real Kafka broker."""

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from service.workers.process import ANSWER_SECONDS
from tests.integration.claims import numbered
from tests.integration.worker_claims import (
    PARTITIONS,
    SHORT_SESSION,
    SLOW,
    MembershipClaims,
    WorkerClaims,
    assert_each_once,
    wait_until_gone,
)

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/stat").exists(), reason="looks at processes as Linux does"
)

BOUND_SECONDS = 12.0
"""Twice what a service with a frozen worker takes to leave: the machine may be busy."""


class TestWorkersOnSqlite(WorkerClaims):
    """Everything workers promise, on SQLite; and what does not depend on the stream."""

    @pytest.fixture
    def url(self, tmp_path):
        return f"sqlite:///{tmp_path}/stream.db"

    def test_no_worker_is_ever_interrupted_by_ctrl_c(self, stream, serve):
        stream.create(2)
        for pid in serve(workers=2).ready().workers.values():
            status = Path(f"/proc/{pid}/status").read_text()
            (blocked,) = (line.split()[1] for line in status.splitlines() if line.startswith("SigBlk"))
            assert int(blocked, 16) & 1 << (signal.SIGINT - 1)

    def test_a_second_ctrl_c_ends_at_once_whatever_a_worker_does(self, stream, serve):
        stream.create(2)
        process = serve(workers=2).ready()
        pids = list(process.workers.values())
        os.kill(pids[0], signal.SIGSTOP)  # it will never finish its batch
        process.signal_group(signal.SIGINT)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(1.5)
        process.signal_group(signal.SIGINT)
        assert process.wait(20) == 130
        wait_until_gone(pids, within_seconds=20)

    def test_one_that_is_frozen_holds_up_no_scrape_and_its_partitions_are_shown_by_their_new_owner(
        self, stream, serve
    ):
        first, second = numbered(1), numbered(1, "again")
        stream.create(2)
        stream.produce(first, partitions=2)
        process = serve(workers=2, **SHORT_SESSION).ready()
        process.eventually(lambda: process.metric("perceptron_predictions_total") == len(first))
        frozen = process.workers[1]
        os.kill(frozen, signal.SIGSTOP)
        stream.produce(second, partitions=2)
        process.get("/metrics")
        # Any of several, as a busy machine may hold one up; a scrape that waited would do so each time.
        assert min(seconds(lambda: process.get("/metrics")) for _ in range(5)) < ANSWER_SECONDS
        total = len(first + second)
        process.eventually(lambda: process.metric("perceptron_predictions_total") == total)
        process.eventually(lambda: process.get("/readyz").status_code == 503)
        assert "worker 1: has said nothing" in process.get("/readyz").json()["reason"]
        os.kill(frozen, signal.SIGCONT)
        process.ready()
        # While a partition moves to the thawed worker, nobody shows it.
        process.eventually(lambda: process.metric("perceptron_predictions_total") == total)
        assert process.stop() == 0

    @pytest.mark.parametrize("number", [1, 2])
    def test_one_that_is_frozen_is_killed_when_it_does_not_leave(self, stream, serve, number):
        events = numbered(1)
        stream.create(PARTITIONS)
        process = serve(workers=2).ready()
        frozen = process.workers[number]
        os.kill(frozen, signal.SIGSTOP)
        stream.produce(events, partitions=PARTITIONS)
        asked_at = time.monotonic()
        assert process.stop() == 0
        assert time.monotonic() - asked_at < BOUND_SECONDS
        assert f"worker {number}: has said nothing for 5 s since it was told to leave" in process.stderr
        wait_until_gone([frozen], within_seconds=1)
        assert serve("--exit-at-end").wait() == 0
        assert_each_once(stream, events)

    def test_one_that_is_frozen_makes_the_service_unready_after_the_time_out(self, stream, serve):
        stream.create(PARTITIONS)
        process = serve(workers=2, ready_timeout_seconds=2).ready()
        frozen = process.workers[1]
        os.kill(frozen, signal.SIGSTOP)
        process.eventually(lambda: process.get("/readyz").status_code == 503)
        assert process.get("/readyz").json()["reason"] == "worker 1: has said nothing for 2 s"
        os.kill(frozen, signal.SIGCONT)
        process.ready()

    def test_one_that_an_operator_ends_finishes_its_batch_and_is_started_again(self, stream, serve):
        stream.create(2)
        process = serve(workers=2).ready()
        ended = process.workers[1]
        os.kill(ended, signal.SIGTERM)
        process.eventually(lambda: process.workers[1] != ended)
        process.ready()
        assert "worker 1: left without being told to" in process.stderr
        assert process.stop() == 0

    def test_a_model_that_cannot_be_made_is_a_wrong_setting_told_once(self, stream, serve):
        stream.create(2)
        process = serve(workers=2, model="nonsense")
        assert process.wait() == 2
        assert process.stderr.count("error: ") == 1
        assert "nonsense" in process.stderr
        assert "Traceback" not in process.stderr

    def test_no_secret_is_on_a_command_line_and_each_log_line_has_its_worker(self, stream, serve):
        stream.create(2)
        process = serve(workers=2, checkpoint_key="hunter2", log_interval_seconds=1).ready()
        process.eventually(lambda: {line.get("worker") for line in process.log} == {None, 1, 2})
        for pid in process.workers.values():
            line = Path(f"/proc/{pid}/cmdline").read_bytes()
            assert b"hunter2" not in line
            assert b"stream.db" not in line
        assert process.stop() == 0

    def test_a_stream_in_memory_is_refused(self, serve):
        process = serve(workers=2, broker="memory://")
        assert process.wait() == 2
        assert "error: workers = 2: a memory:// stream lives in one process" in process.stderr

    def test_as_many_as_there_are_cores_are_started_by_auto(self, stream, serve):
        stream.create(2)
        process = serve("--exit-at-end", "--workers", "auto")
        assert process.wait() == 0
        cores = len(os.sched_getaffinity(0))
        assert cores == 1 or f", {cores} workers" in process.stderr

    def test_answers_are_those_of_one_process(self, stream, serve):
        events = numbered(1)
        stream.create(4)
        stream.produce(events, partitions=4)
        assert serve("--exit-at-end", workers=2, **SLOW).wait() == 0
        shared = by_id(stream.answers())
        alone = {"group": "alone", "predictions_topic": "alone", "checkpoints_topic": "alone-checkpoints"}
        assert serve("--exit-at-end", **alone).wait() == 0
        stream.topics["predictions"] = "alone"
        assert by_id(stream.answers()) == shared


def seconds(do):
    began = time.monotonic()
    do()
    return time.monotonic() - began


def by_id(answers):
    return {answer["id"]: answer for answer in answers}


@pytest.mark.kafka
class TestWorkersOnKafka(MembershipClaims):
    """What workers promise as members of a group, on Kafka."""

    @pytest.fixture
    def url(self, kafka_bootstrap):
        return f"kafka://{kafka_bootstrap}"


class TestWorkersAgainOnKafka(TestWorkersOnKafka, WorkerClaims):
    """Everything workers promise, on Kafka."""
