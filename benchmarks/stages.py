"""Where the time of `serve` goes: processor time per event by stage, for each client.

    python benchmarks/stages.py [EVENTS]

The loop of `serve` runs in this process on a backlog of labelled events of 12 numbers: on a Kafka broker with
each client that is installed (PERCEPTRON_TEST_KAFKA=host:port, or one that is started), and on SQLite. The
processor time of its thread is read around polls, batches and commits; on Kafka a commit goes on in a thread
of its own, which counts with those of the client. The steps of a batch are compiled into one another there,
so they are also timed by themselves, each called from Python for every event (`event_path.py`): together they
may take longer than the batch, which calls nothing and makes no objects. The first tenth of the events is not
counted.
"""

from __future__ import annotations

import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from time import process_time, thread_time
from typing import Any, Final
from unittest import mock

sys.path.append(str(Path(__file__).parents[1]))

import event_path
from measures.base import Unavailable
from measures.examples import events
from prometheus_client import CollectorRegistry

from service.cli.process_tuning import collect_less_often, keep_freed_memory
from service.loop.commits import Commits
from service.loop.runner import Runner
from service.loop.task import Task
from service.monitoring.health import Health
from service.monitoring.metrics import Metrics
from service.settings.load import Settings
from service.stream import Output, Transport
from service.transport import open_transport

EVENTS: Final = 100_000
_PATH_EVENTS: Final = 5000
_PATH_ROUNDS: Final = 5
_STAGES: Final = ("poll", "batch", "commit", "rest of the loop", "threads of client and commits")
_TIMED: Final = (
    (Task, "_predict_and_learn", "batch"),
    (Commits, "begin", "commit"),
    (Commits, "finish", "commit"),
)
_INSIDE: Final = {
    "decode": "decode, validate",
    "features": "features",
    "predict + learn": "predict, learn",
    "encode": "encode",
}
"""Stages of `event_path` that are steps of a batch."""


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


def microseconds(
    transport: Transport, values: Sequence[bytes], topics: Mapping[str, str]
) -> dict[str, float]:
    """Process the values, which a topic holds; return the time per event of each stage of the loop."""
    settings = Settings(http="", labels_topic="", **topics)  # type: ignore[arg-type] # names of topics
    metrics, meter = Metrics(CollectorRegistry()), Meter()
    with ExitStack() as stack:
        for owner, name, stage in _TIMED:
            timed = meter.timed(stage, getattr(owner, name))
            patched = mock.patch.object(owner, name, lambda *given, _timed=timed, **o: _timed(*given, **o))
            stack.enter_context(patched)
        runner = Runner(transport, settings, metrics=metrics, health=Health())
        runner.start()
        stack.callback(runner.close)
        runner._consumer.poll = meter.timed("poll", runner._consumer.poll)  # type: ignore[method-assign] # noqa: SLF001
        done = _step(runner, metrics, len(values) // 10)
        with meter.counting():
            count = _step(runner, metrics, len(values)) - done
        # Before the loop hands its partition over.
        return {stage: seconds / count * 1e6 for stage, seconds in meter.seconds.items()}


def _step(runner: Runner, metrics: Metrics, count: int) -> int:
    """Let the loop step until it has processed so many events; return how many they are."""
    while (done := _processed(metrics)) < count:
        runner.step()
    return done


def _processed(metrics: Metrics) -> int:
    return int(metrics.registry.get_sample_value("perceptron_process_duration_seconds_count") or 0)


def inside(values: Sequence[bytes]) -> dict[str, float]:
    """Return the microseconds per event of the steps of a batch, each by itself: medians."""
    runs = event_path.stages(values)
    return {
        shown: median(event_path.microseconds(runs[name], len(values)) for _ in range(_PATH_ROUNDS))
        for name, shown in _INSIDE.items()
    }


def streams(values: Sequence[bytes], folder: Path) -> Iterator[tuple[str, Transport, Mapping[str, str]]]:
    """Yield what can be measured: a name, a stream that holds the values, and the names of its topics."""
    if find_spec("confluent_kafka"):
        from measures.stream import shared_stream, unused  # noqa: PLC0415 - it needs the client

        try:
            stream = shared_stream()
        except Unavailable as reason:
            print(f"no Kafka: {reason}", file=sys.stderr)
        else:
            events_topic = stream.create("events")
            stream.fill(events_topic, values)
            for client in ("confluent", "kafka-python"):
                names = ("predictions", "dead_letters", "checkpoints")
                topics = {f"{name}_topic": unused(name.replace("_", "-")) for name in names}
                topics |= {"events_topic": events_topic, "group": unused("stages")}
                url = f"kafka://{stream.address}"
                yield client, open_transport(url, kafka_client=client), topics
    embedded = open_transport(f"sqlite:///{folder / 'stream.db'}")
    embedded.ensure_topics({"events": 1})
    embedded.produce([Output("events", None, value) for value in values])
    yield "SQLite", embedded, {}


def table(count: int = EVENTS) -> Sequence[str]:
    """Measure; return the lines of a table in Markdown."""
    values = events(count)
    collect_less_often()  # as `serve` does
    keep_freed_memory()
    columns: dict[str, Mapping[str, float]] = {}
    with tempfile.TemporaryDirectory(prefix="perceptron-stages-") as folder:
        for name, transport, topics in streams(values, Path(folder)):
            with closing(transport):
                columns[name] = microseconds(transport, values, topics)
    return lines(columns, inside(values[:_PATH_EVENTS]))


def lines(columns: Mapping[str, Mapping[str, float]], steps: Mapping[str, float]) -> Sequence[str]:
    """Write the stages of each stream, their sums, and the steps of a batch, which are the same for all."""
    rows = [(stage, [found[stage] for found in columns.values()]) for stage in _STAGES]
    rows.append(("all", [sum(found[stage] for stage in _STAGES) for found in columns.values()]))
    rows += [(f"by itself: {step}", [cost] * len(columns)) for step, cost in steps.items()]
    return [
        f"| µs of processor time per event | {' | '.join(columns)} |",
        f"|---|{'---:|' * len(columns)}",
        *(f"| {stage} | {' | '.join(f'{each:.2f}' for each in cells)} |" for stage, cells in rows),
    ]


def main() -> None:
    """Print the table."""
    print("\n".join(table(int(sys.argv[1]) if len(sys.argv) > 1 else EVENTS)))


if __name__ == "__main__":
    main()
