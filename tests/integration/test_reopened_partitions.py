"""A partition that is opened again leaves nothing behind of the task that it had before."""

import gc
import logging
import time
import weakref
from contextlib import closing

import pytest
from prometheus_client import CollectorRegistry

from service.clock import SystemClock
from service.loop.context import Context
from service.loop.runner import Runner
from service.monitoring.live_models import LiveModels
from service.monitoring.metrics import Metrics
from service.partition.processor import Processor
from tests.integration.claims import numbered
from tests.integration.conftest import Stream
from tests.service.building import settings, step_until

N_OPENINGS = 20


class FastClock(SystemClock):
    """A clock by which no pause before another try is long."""

    def monotonic(self):
        return 100 * time.monotonic()


@pytest.fixture
def stream():
    stream = Stream("memory://", "kafka-python")
    with closing(stream.transport):
        yield stream


@pytest.fixture
def runner(stream, monkeypatch):
    """Return a service of one partition, as `serve` makes it, to be run step by step."""
    monkeypatch.setattr("service.loop.runner._IDLE_POLL_SECONDS", 0.01)
    stream.create()
    given = settings(**stream.settings | {"http": "", "commit_interval_seconds": 0.001})
    live = LiveModels(given)
    metrics = Metrics(CollectorRegistry())
    runner = Runner(Context(stream.transport, given, metrics, live=live, clock=FastClock()))
    with closing(runner):
        yield runner


@pytest.fixture
def without_collector(caplog):
    """Leave all to the counts of references: the collector looks at old objects after hours, if at all."""
    caplog.set_level(logging.CRITICAL)  # what is captured keeps errors, and these the frames they passed
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def lose_by_outage(stream, runner):
    runner._consumer.writer(0)  # fences the writer, as a process would that takes this one for gone
    stream.produce(numbered(1))


def lose_by_rebalance(stream, runner):
    runner._tasks.partitions_revoked(frozenset({0}))
    runner._tasks.partitions_assigned(frozenset({0}))


def open_again(stream, runner, lose):
    former = weakref.ref(runner._tasks.running[0])
    lose(stream, runner)
    step_until(runner, lambda: runner._tasks.running.get(0) not in {None, former()})


def processors():
    return sum(type(each) is Processor for each in gc.get_objects())


@pytest.mark.parametrize("lose", [lose_by_outage, lose_by_rebalance])
@pytest.mark.usefixtures("without_collector")
def test_partition_opened_repeatedly_keeps_one_model(stream, runner, lose):
    step_until(runner, lambda: 0 in runner._tasks.running and not runner._tasks.running[0].is_committing)
    one = processors()  # and what other tests keep
    for _ in range(N_OPENINGS - 1):
        open_again(stream, runner, lose)
    assert processors() == one
