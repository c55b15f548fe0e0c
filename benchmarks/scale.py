"""What partitions and the coming and going of processes cost `perceptron serve`.

    python benchmarks/scale.py cost [--partitions 1,16,64,200] [--client NAME]… [--events N] [--against FILE]…
    python benchmarks/scale.py handover [--partitions 32] [--client NAME]… [--rate 1000] [--against FILE]…
    python benchmarks/scale.py latency [--names N] [--hash-bits N] [--rate N] [--client NAME]… [--against F]

`cost` prints, for each number of partitions and each Kafka client: processor time an event, from the first
commit to the last; seconds from the start to `/readyz` of a second process, which has nothing to learn again;
the share of a core that it takes idle; and its memory. `handover` lets two processes share the partitions of
a steady stream: one stops in order, comes back, and is killed. It prints for how long an event waited at most
until its prediction could be read: in partitions that stayed where they were, and in those that moved.
`latency` lets one process learn N features, and make a snapshot each 8 s under a steady stream. It prints how
long events waited until their predictions could be read, and how long an orderly stop takes.

`--against` names the `perceptron` of another installation, such as one of an earlier commit: it is measured
in turns with this one.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

# At the end: what is measured is the installed project, compiled, and not the sources beside this script.
sys.path.append(str(Path(__file__).parents[1]))

import httpx
from confluent_kafka import Consumer, Producer, TopicPartition
from measures.examples import events
from measures.processes import peak_mebibytes, processor_seconds
from measures.stream import LOG, Running, Stream, perceptron, shared_stream, unused

_CLIENTS: Final = ("confluent", "kafka-python")
_IDLE_SECONDS: Final = 10.0
_STEADY_SECONDS: Final = 8.0
"""Between two events of a hand-over: longer than any of its effects is to last."""
_SESSION_SECONDS: Final = 10.0
"""The default of `session_timeout_seconds`."""
_PARTITIONS: Final = {"cost": (1, 16, 64, 200), "handover": (32,), "latency": (1,)}
_COST_COLUMNS: Final = f"{'us/event':>9}{'ready s':>9}{'idle %':>9}{'MiB':>9}"
_HANDOVER_COLUMNS: Final = f"{'a process':16}{'stay':>8}{'silent s':>9}{'move':>8}{'silent s':>9}"
_LATENCY_COLUMNS: Final = f"{'names':>9}{'p50 ms':>9}{'p99 ms':>9}{'p99.9':>9}{'longest':>9}{'stop s':>9}"
_NAMES_AN_EVENT: Final = 200
_SNAPSHOT_SECONDS: Final = 8


class Build(NamedTuple):
    """An installation that is measured."""

    name: str
    command: str


class Process:
    """One `perceptron serve`, with the page that tells when it is ready."""

    def __init__(self, stream: Stream, build: Build, settings: Mapping[str, object]) -> None:
        folder = stream.folder / unused("serve")
        folder.mkdir()
        self._log = folder / LOG
        given = {"broker": f"kafka://{stream.address}", "http": "127.0.0.1:0", **settings}
        self.running = Running(folder, [build.command, "serve"], given)
        self._url = ""

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self.running.pid

    def until_ready(self) -> float:
        """Wait until `/readyz` says so; return when."""
        self.running.until(self._is_ready)
        return time.perf_counter()

    def _is_ready(self) -> bool:
        if not self._url:
            found = re.search(r"http://127\.0\.0\.1:\d+", self._log.read_text(errors="replace"))
            self._url = found[0] if found else ""
        if not self._url:
            return False
        with suppress(httpx.TransportError):
            return httpx.get(f"{self._url}/readyz").is_success
        return False


def settings_of(stream: Stream, partitions: int, client: str) -> dict[str, object]:
    """Create topics; return the settings of a group on them."""
    names = ("events", "labels", "predictions", "dead_letters", "checkpoints")
    topics = {f"{name}_topic": stream.create(name.replace("_", "-"), partitions) for name in names}
    return {**topics, "group": unused("scale"), "kafka_client": client}


def cost(stream: Stream, build: Build, client: str, partitions: int, n_events: int) -> str:
    """Measure one process; return a row."""
    settings = settings_of(stream, partitions, client)
    topic, group = str(settings["events_topic"]), str(settings["group"])
    stream.fill(topic, events(n_events), partitions)
    with stream.progress(group, topic, partitions) as progress:
        with Process(stream, build, settings).running as running:
            first = running.until(progress)
            began = processor_seconds(running.pid)
            running.until(lambda: progress() >= n_events)
            micros = 1e6 * (processor_seconds(running.pid) - began) / (n_events - first)
        began = time.perf_counter()
        process = Process(stream, build, settings)
        with process.running:
            ready = process.until_ready() - began
            time.sleep(_IDLE_SECONDS / 2)
            busy = processor_seconds(process.pid)
            time.sleep(_IDLE_SECONDS)
            busy = (processor_seconds(process.pid) - busy) / _IDLE_SECONDS
            memory = peak_mebibytes(process.pid)
    return f"{micros:9.1f}{ready:9.1f}{100 * busy:9.1f}{memory:9.0f}"


class Steady:
    """A steady stream to all partitions, and when the prediction of each event could be read.

    An event waits from the moment when the broker has it, which is the slower one on a busy machine.
    """

    def __init__(self, stream: Stream, settings: Mapping[str, object], partitions: int, rate: int) -> None:
        self._address, self._rate, self._partitions = stream.address, rate, partitions
        self._events, self._predictions = str(settings["events_topic"]), str(settings["predictions_topic"])
        self._stop = threading.Event()
        self._answers: defaultdict[int, list[tuple[float, float]]] = defaultdict(list)
        """By partition: when an event was sent, and when its prediction was read."""
        self._stored: dict[float, float] = {}
        """When the broker had the event that was sent at a time."""

    @contextmanager
    def flowing(self) -> Iterator[None]:
        """Send and read for the length of a context."""
        threads = [threading.Thread(target=each) for each in (self._send, self._read)]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self._stop.set()
            for thread in threads:
                thread.join()

    def _send(self) -> None:
        # By the key, as the service does: the prediction of an event lies in the event's partition.
        options = {"linger.ms": 5, "partitioner": "murmur2_random"}
        producer = Producer({"bootstrap.servers": self._address, **options})
        values, began, n = [json.loads(value) for value in events(2000)], time.perf_counter(), 0
        while not self._stop.is_set():
            time.sleep(max(0.0, began + n / self._rate - time.perf_counter()))
            sent = time.perf_counter()
            value = values[n % len(values)] | {"id": f"{sent!r}"}
            producer.produce(
                self._events, json.dumps(value), f"{sent!r}", on_delivery=partial(self._note, sent)
            )
            producer.poll(0)
            n += 1
        producer.flush()

    def _note(self, sent: float, *_: object) -> None:
        self._stored[sent] = time.perf_counter()

    def _read(self) -> None:
        options = {
            "group.id": unused("reader"),
            "isolation.level": "read_committed",
            "auto.offset.reset": "earliest",
        }
        consumer = Consumer({"bootstrap.servers": self._address, **options})
        consumer.assign([TopicPartition(self._predictions, each, 0) for each in range(self._partitions)])
        while not self._stop.is_set():
            for message in consumer.consume(1000, 0.05):
                sent = float(json.loads(message.value())["id"])
                self._answers[message.partition()].append((sent, time.perf_counter()))
        consumer.close()

    def longest_wait(self, began: float, ended: float, partitions: Collection[int]) -> float:
        """Return the longest wait of an event that was sent in that time to one of these partitions."""
        return max(self.waits(began, ended, partitions), default=0.0)

    def waits(self, began: float, ended: float, partitions: Collection[int]) -> list[float]:
        """Return how long each event waited that was sent in that time to one of these partitions."""
        answers = [each for partition in partitions for each in self._answers[partition]]
        return [read - self._stored.get(sent, sent) for sent, read in answers if began <= sent < ended]


def named_events(n_names: int) -> Iterator[bytes]:
    """Yield events with features of their own; each label is one that the bias alone does not predict."""
    for first in range(0, n_names, _NAMES_AN_EVENT):
        features = {f"feature-{k:09}": 1.0 for k in range(first, first + _NAMES_AN_EVENT)}
        yield json.dumps(
            {"id": f"{-first}", "features": features, "label": not first // _NAMES_AN_EVENT % 2}
        ).encode()


def latency(stream: Stream, build: Build, client: str, given: argparse.Namespace) -> str:
    """Measure one process whose model knows many names; return a row."""
    settings = settings_of(stream, 1, client) | {
        "hash_bits": given.hash_bits,
        "snapshot_interval_seconds": _SNAPSHOT_SECONDS,
    }
    topic, group = str(settings["events_topic"]), str(settings["group"])
    stream.fill(topic, named_events(given.names))
    steady = Steady(stream, settings, 1, given.rate)
    with stream.progress(group, topic) as progress:
        process = Process(stream, build, settings)
        with process.running as running:
            running.until(lambda: progress() >= given.names // _NAMES_AN_EVENT)
            with steady.flowing():
                time.sleep(_STEADY_SECONDS)
                began = time.perf_counter()
                time.sleep(4 * _SNAPSHOT_SECONDS)
                ended = time.perf_counter()
                time.sleep(_STEADY_SECONDS)
            waits = sorted(steady.waits(began, ended, [0]))
            told = time.perf_counter()
    stopped = time.perf_counter() - told
    at = [1e3 * waits[int(share * (len(waits) - 1))] for share in (0.5, 0.99, 0.999, 1.0)]
    return f"{given.names:9}" + "".join(f"{each:9.0f}" for each in at) + f"{stopped:9.2f}"


class HandOver:
    """Processes that come and go while a steady stream flows.

    Parameters
    ----------
    stream, build, client, partitions, rate
        Where, what, with which Kafka client, and the events a second to all partitions.

    """

    def __init__(self, stream: Stream, build: Build, client: str, partitions: int, rate: int) -> None:
        self._stream, self._build = stream, build
        self._settings = settings_of(stream, partitions, client)
        self._partitions = range(partitions)
        self._steady = Steady(stream, self._settings, partitions, rate)
        self._stack = ExitStack()

    def rows(self) -> Iterator[str]:
        """Let a process stop, come back and be killed; yield a row for each."""
        with self._stack:
            self._start().until_ready()
            second = self._start()
            second.until_ready()
            self._stack.enter_context(self._steady.flowing())
            time.sleep(_STEADY_SECONDS)
            yield self._row("stops in order", lambda: os.kill(second.pid, signal.SIGTERM), _STEADY_SECONDS)
            started: list[Process] = []
            yield self._row("joins", lambda: started.append(self._start()), 2 * _STEADY_SECONDS)
            killed_seconds = _SESSION_SECONDS + _STEADY_SECONDS
            yield self._row("is killed", lambda: os.kill(started[0].pid, signal.SIGKILL), killed_seconds)

    def _start(self) -> Process:
        process = Process(self._stream, self._build, self._settings)
        self._stack.enter_context(process.running)
        return process

    def _row(self, what: str, act: Callable[[], object], seconds: float) -> str:
        before, began = self._owners(), time.perf_counter()
        act()
        time.sleep(seconds)
        after, ended = self._owners(), time.perf_counter()
        time.sleep(_STEADY_SECONDS)  # what was sent last comes to be read
        stayed = {each for member in before.keys() & after.keys() for each in before[member] & after[member]}
        moved = set(self._partitions) - stayed
        longest = [self._steady.longest_wait(began, ended, each) for each in (stayed, moved)]
        return f"{what:16}{len(stayed):8}{longest[0]:9.1f}{len(moved):8}{longest[1]:9.1f}"

    def _owners(self) -> Mapping[str, set[int]]:
        """Return the partitions of each member of the group."""
        group, topic = str(self._settings["group"]), self._settings["events_topic"]
        found = self._stream.admin.describe_consumer_groups([group])[group].result()
        return {
            member.member_id: {at.partition for at in member.assignment.topic_partitions if at.topic == topic}
            for member in found.members
        }


def main() -> None:
    """Print what was asked for, row by row."""
    given = _arguments()
    builds = [Build("this one", perceptron()), *(Build(each, each) for each in given.against)]
    stream = shared_stream()
    head = f"{'client':14}{'partitions':>10}  " if given.what == "cost" else f"{'client':14}"
    columns = {"cost": _COST_COLUMNS, "handover": _HANDOVER_COLUMNS, "latency": _LATENCY_COLUMNS}[given.what]
    print(f"{head}{columns}  installation")
    for client in given.client or _CLIENTS:
        for partitions in given.partitions or _PARTITIONS[given.what]:
            for build in builds:
                if given.what == "cost":
                    row = cost(stream, build, client, partitions, given.events)
                    print(f"{client:14}{partitions:10}  {row}  {build.name}", flush=True)
                elif given.what == "latency":
                    print(f"{client:14}{latency(stream, build, client, given)}  {build.name}", flush=True)
                else:
                    for row in HandOver(stream, build, client, partitions, given.rate).rows():
                        print(f"{client:14}{row}  {build.name}", flush=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=[*_PARTITIONS])
    parser.add_argument("--partitions", type=lambda text: [int(each) for each in text.split(",")])
    parser.add_argument("--client", action="append", choices=_CLIENTS)
    parser.add_argument("--events", type=int, default=200_000, help="of `cost`")
    parser.add_argument("--rate", type=int, default=1000, help="events a second of `handover` and `latency`")
    parser.add_argument("--names", type=int, default=1_000_000, help="of `latency`")
    parser.add_argument("--hash-bits", type=int, default=0, help="of `latency`")
    parser.add_argument("--against", action="append", default=[], metavar="FILE")
    return parser.parse_args()


if __name__ == "__main__":
    main()
