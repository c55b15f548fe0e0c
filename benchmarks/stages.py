"""Where the time of `serve` goes: processor time per event by stage, for each client.

    python benchmarks/stages.py [EVENTS]

The loop of `serve` runs in this process on a backlog of labelled events of 12 numbers: on a Kafka broker with
each client (PERCEPTRON_TEST_KAFKA=host:port, or one that is started), and on SQLite. The processor time of
its thread is read around polls, batches and commits; on Kafka a commit runs in a thread of its own, which
counts with those of the client. The first tenth of the events is not counted.
"""

from __future__ import annotations

import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from time import process_time, thread_time
from typing import Any, Final
from unittest import mock

sys.path.append(str(Path(__file__).parents[1]))

import data
from broker import shared_stream, unused
from measures import Unavailable
from prometheus_client import CollectorRegistry

from service.cli.commands.serve import tune_process
from service.loop.context import Context
from service.loop.runner import Runner
from service.loop.task import Task, TaskWriter
from service.monitoring.metrics import Metrics
from service.settings.load import Settings
from service.stream.opening import open_transport
from service.stream.protocol import Output, Transport

EVENTS: Final = 100_000
_STAGES: Final = ("poll", "batch", "commit", "rest of the loop", "threads of client and commits")
TIMED: Final = (
    (Task, "_predict_and_learn", "batch"),
    (TaskWriter, "begin", "commit"),
    (TaskWriter, "finish", "commit"),
)


class Meter:
    """Adds up the processor time of this thread by stage; a stage inside another one counts for itself."""

    def __init__(self) -> None:
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self._stages = ["rest of the loop"]
        self._since = thread_time()

    def _note(self) -> None:
        now = thread_time()
        self.seconds[self._stages[-1]] += now - self._since
        self._since = now

    def timed(self, stage: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function, its time counted for a stage."""

        def run(*args: object, **options: object) -> Any:  # noqa: ANN401 - whatever it returns
            self._note()
            self._stages.append(stage)
            try:
                return function(*args, **options)
            finally:
                self._note()
                self._stages.pop()

        return run

    @contextmanager
    def counting(self) -> Iterator[None]:
        """Count from here on; what other threads take, too."""
        self.seconds.clear()
        self._since = thread_time()
        others = self._since - process_time()
        yield
        self._note()
        self.seconds["threads of client and commits"] = others + process_time() - thread_time()


def microseconds(transport: Transport, n_events: int, topics: Mapping[str, str]) -> dict[str, float]:
    """Process what a topic holds; return the time per event of each stage of the loop."""
    settings = Settings(http="", labels_topic="", **topics)
    metrics, meter = Metrics(CollectorRegistry()), Meter()
    with ExitStack() as stack:
        for owner, name, stage in TIMED:
            timed = meter.timed(stage, getattr(owner, name))
            patched = mock.patch.object(owner, name, lambda *given, _timed=timed, **o: _timed(*given, **o))
            stack.enter_context(patched)
        runner = Runner(Context(transport, settings, metrics))
        stack.callback(runner.close)
        runner._consumer.poll = meter.timed("poll", runner._consumer.poll)  # type: ignore[method-assign] # noqa: SLF001
        done = _step(runner, metrics, n_events // 10)
        with meter.counting():
            count = _step(runner, metrics, n_events) - done
        # Before the loop hands its partition over.
        return {stage: seconds / count * 1e6 for stage, seconds in meter.seconds.items()}


def _step(runner: Runner, metrics: Metrics, count: int) -> int:
    """Let the loop step until it has processed so many events; return how many they are."""
    name = "perceptron_process_duration_seconds_count"
    while (done := int(metrics.registry.get_sample_value(name) or 0)) < count:
        runner.step()
    return done


def streams(count: int, folder: Path) -> Iterator[tuple[str, Transport, Mapping[str, str]]]:
    """Yield what can be measured: a name, a stream that holds the events, and the names of its topics."""
    try:
        stream = shared_stream()
    except Unavailable as reason:
        print(f"no Kafka: {reason}", file=sys.stderr)
    else:
        events_topic = stream.create("events")
        stream.fill(events_topic, data.events(count))
        for client in ("confluent", "kafka-python"):
            names = ("predictions", "dead_letters", "checkpoints")
            topics = {f"{name}_topic": unused(name.replace("_", "-")) for name in names}
            topics |= {"events_topic": events_topic, "group": unused("stages")}
            yield client, open_transport(f"kafka://{stream.address}", kafka_client=client), topics
    embedded = open_transport(f"sqlite:///{folder / 'stream.db'}")
    embedded.ensure_topics({"events": 1})
    embedded.produce([Output("events", None, value) for value in data.events(count)])
    yield "SQLite", embedded, {}


def table(count: int = EVENTS) -> Sequence[str]:
    """Measure; return the lines of a table in Markdown."""
    tune_process()  # as `serve` does
    columns: dict[str, Mapping[str, float]] = {}
    with tempfile.TemporaryDirectory(prefix="perceptron-stages-") as folder:
        for name, transport, topics in streams(count, Path(folder)):
            with closing(transport):
                columns[name] = microseconds(transport, count, topics)
    rows = [(stage, [found[stage] for found in columns.values()]) for stage in _STAGES]
    rows.append(("all", [sum(found[stage] for stage in _STAGES) for found in columns.values()]))
    return [
        f"| µs of processor time per event | {' | '.join(columns)} |",
        f"|---|{'---:|' * len(columns)}",
        *(f"| {stage} | {' | '.join(f'{each:.2f}' for each in cells)} |" for stage, cells in rows),
    ]


if __name__ == "__main__":
    print("\n".join(table(int(sys.argv[1]) if len(sys.argv) > 1 else EVENTS)))
