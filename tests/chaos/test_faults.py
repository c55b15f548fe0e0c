"""What fails without ending the process: a word about it, and everything is done once."""

import contextlib
import itertools
import resource
import sys

import pytest
from kafka.coordinator.base import BaseCoordinator
from prometheus_client import CollectorRegistry

from service.loop.context import Context
from service.loop.runner import Runner
from service.monitoring.metrics import Metrics
from tests.chaos.presets import AMONG_EVENTS, APART, HTTP, hours_ago_ms
from tests.support.chaos_log import chaos_log
from tests.support.chaos_stream import ChaosStream
from tests.support.exactly_once import assert_exactly_once


def log():
    return list(chaos_log(500, seed=31, start_ms=hours_ago_ms(100)))


@pytest.mark.skipif(sys.platform != "linux", reason="limits a running process")
def test_records_are_processed_once_after_a_full_disk(tmp_path, start):
    with contextlib.closing(ChaosStream(f"sqlite:///{tmp_path}/s.db", **AMONG_EVENTS, **HTTP)) as stream:
        service = start(stream).ready()
        soft, hard = resource.prlimit(service.process.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(service.process.pid, resource.RLIMIT_FSIZE, (100_000, hard))
        stream.produce(log())
        complaints = ("cannot write", "trying again in")
        service.eventually(lambda: service.readiness() == 503 and all(map(service.says, complaints)))
        resource.prlimit(service.process.pid, resource.RLIMIT_FSIZE, (soft, hard))
        service.eventually(lambda: service.readiness() == 200)
        assert service.stop() == 0
        assert service.again("--exit-at-end", http="").wait() == 0
        assert_exactly_once(stream)


@pytest.mark.kafka
def test_membership_that_ends_during_a_group_request_is_renewed(kafka_bootstrap, monkeypatch):
    responses, ended = itertools.count(), []
    process = BaseCoordinator._process_sync_group_response

    def end_first(coordinator, response, sent_at):
        if next(responses) < 5:
            ended.append(coordinator._generation)
            coordinator.reset_generation(member_id=coordinator._generation.member_id)
        return process(coordinator, response, sent_at)

    with contextlib.closing(ChaosStream(f"kafka://{kafka_bootstrap}", **APART)) as stream:
        monkeypatch.setattr(BaseCoordinator, "_process_sync_group_response", end_first)
        stream.produce(log())
        metrics = Metrics(CollectorRegistry())
        Runner(Context(stream.transport, stream.settings, metrics)).run(exit_at_end=True)
        monkeypatch.undo()
        assert_exactly_once(stream)
    assert ended
