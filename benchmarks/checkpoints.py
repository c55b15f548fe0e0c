"""What checkpoints cost: restoring a large model, committing beside one, and memory over a long stream.

    python benchmarks/checkpoints.py restore | commits | memory [EVENTS]

`memory` streams through a SQLite file events of which 30 % are never labelled and prints the resident
set over time; with no argument everything runs, `memory` at 2,000,000 events.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter, sleep
from typing import Any

from prometheus_client import CollectorRegistry

from service.batches import RecordBatch
from service.loop.recovery import Restored, restore
from service.loop.runner import Runner
from service.loop.task import Task
from service.models.binary import BinaryLearner
from service.monitoring.health import Health
from service.monitoring.metrics import Metrics
from service.partition.factory import make_processor
from service.settings.load import Settings
from service.stream import Output, Record, Transport
from service.transport import open_transport

ROUNDS = 5


class _Anybody:
    """An assignee that takes whatever comes."""

    partitions: frozenset[int] = frozenset()

    def partitions_assigned(self, partitions: frozenset[int]) -> None:
        self.partitions = partitions

    def partitions_revoked(self, partitions: frozenset[int]) -> None: ...
    def partitions_lost(self, partitions: frozenset[int]) -> None: ...


def task_with_weights(transport: Transport, settings: Settings, count: int) -> Task:
    """Open a task on partition 0 whose model has `count` weights."""
    topics = (settings.events_topic, settings.predictions_topic, settings.dead_letters_topic)
    transport.ensure_topics(dict.fromkeys((*topics, settings.checkpoints_topic), 1))
    assignee = _Anybody()
    consumer = transport.join(settings.group, [settings.events_topic], assignee)
    while not assignee.partitions:
        consumer.poll(0.1, 1)
    processor = make_processor(settings)
    assert isinstance(processor.learner, BinaryLearner)
    model: Any = processor.learner.model
    model.weights = {f"text=word{n}": n + 0.5 for n in range(count)}
    offsets = {settings.events_topic: 0}
    task = Task(
        0,
        Restored(processor, 0, offsets, [], 0),
        consumer.writer(0),
        transport=transport,
        settings=settings,
        metrics=Metrics(CollectorRegistry()),
    )
    task.finish_commit()
    return task


def restore_large(count: int = 1_000_000) -> None:
    """Time the restoring of a snapshot of `count` weights from a SQLite file."""
    settings = Settings(labels_topic="")
    with tempfile.TemporaryDirectory() as folder:
        transport = open_transport(f"sqlite:///{folder}/stream.db")
        task_with_weights(transport, settings, count)
        seconds = []
        for _ in range(ROUNDS):
            began = perf_counter()
            restored = restore(transport, settings, 0)
            seconds.append(perf_counter() - began)
        weights = restored.processor.learner.weights()
        assert weights is not None
        assert len(weights[0]) == count
        transport.close()
    print(f"restore {count:,} weights: median {statistics.median(seconds):.2f} s, worst {max(seconds):.2f} s")


def commit_rate() -> None:
    """Measure a commit of ten events beside a small model and beside a large one, in turn."""
    seconds: dict[int, list[float]] = {100: [], 1_000_000: []}
    for _ in range(ROUNDS):
        for count, measured in seconds.items():
            measured.append(_median_commit_seconds(count))
    small, large = (statistics.median(measured) for measured in seconds.values())
    print(
        f"commits per second: {1 / small:,.0f} with 100 weights, {1 / large:,.0f} with 1,000,000: "
        f"ratio {small / large:.2f}"
    )


def _median_commit_seconds(count: int, commits: int = 500) -> float:
    """Time single commits; the median leaves out SQLite's own tidying after the large first snapshot."""
    settings = Settings(labels_topic="", snapshot_interval_seconds=86_400, snapshot_interval_records=10**9)
    seconds = []
    with tempfile.TemporaryDirectory() as folder:
        transport = open_transport(f"sqlite:///{folder}/stream.db")
        task = task_with_weights(transport, settings, count)
        for first in range(0, commits * 10, 10):
            batch = [
                Record("events", 0, n, 0, None, b'{"id":"%d","text":"word%d","label":true}' % (n, n % 10))
                for n in range(first, first + 10)
            ]
            began = perf_counter()
            task.process(RecordBatch(batch))
            task.finish_commit()
            seconds.append(perf_counter() - began)
        transport.close()
    return statistics.median(seconds)


def memory(events: int = 2_000_000) -> None:
    """Stream events of which 30 % are never labelled, the others a while later; print the resident set."""
    settings = Settings(
        labels_topic="",
        max_pending=10_000,
        hash_bits=18,
        commit_interval_seconds=0.01,
        max_batch_records=2000,
        snapshot_interval_records=200_000,
    )
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{folder}/stream.db"
        transport = open_transport(url)
        metrics = Metrics(CollectorRegistry())
        runner = Runner(transport, settings, metrics=metrics, health=Health())
        producer = threading.Thread(target=_produce, args=(url, events, metrics), daemon=True)
        watcher = threading.Thread(target=_watch, args=(runner, metrics, events), daemon=True)
        producer.start()
        watcher.start()
        runner.run()
        transport.close()


def _produce(url: str, events: int, metrics: Metrics) -> None:
    """Send events and late labels, never far ahead of the loop, and delete what it has read."""
    transport = open_transport(url)
    transport.ensure_topics({"events": 1})
    chunk: list[Output] = []
    for number, value in enumerate(_messages(events)):
        chunk.append(Output("events", None, value, (), 0, number))
        if len(chunk) == 5000:
            transport.produce(chunk)
            chunk = []
            while sum(metrics.lag.values()) > 20_000:
                sleep(0.01)
    transport.produce(chunk)


def _messages(events: int) -> Iterator[bytes]:
    for number in range(events):
        features = {f"f{(number * 7 + k) % 1000}": (number + k) % 5 for k in range(8)}
        yield json.dumps({"id": f"e{number}", "features": features}).encode()
        late = number - 3000
        if late >= 0 and late % 10 >= 3:
            yield b'{"id":"e%d","label":%s}' % (late, b"true" if late % 3 else b"false")


def _watch(runner: Runner, metrics: Metrics, events: int) -> None:
    print(f"{'events':>12}{'pending':>10}{'resident MiB':>14}", flush=True)
    step, shown = max(1, events // 10), 0
    while True:
        sleep(0.1)
        state = metrics.last_published.get(0)
        done = state.counters.predictions if state else 0
        if state and done >= shown + step:
            shown = done - done % step
            print(f"{done:>12,}{state.counts['pending']:>10,}{_resident_mib():>14.1f}", flush=True)
        if done >= events:
            runner.stop()
            return


def _resident_mib() -> float:
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise RuntimeError("no VmRSS in /proc/self/status")


def main() -> None:
    """Run what was asked for."""
    parts = {"restore": restore_large, "commits": commit_rate, "memory": memory}
    chosen, *rest = sys.argv[1:] or [""]
    if chosen:
        parts[chosen](*map(int, rest))
        return
    for part in parts.values():
        part()


if __name__ == "__main__":
    main()
