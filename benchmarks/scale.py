"""What partitions, large models, and the coming and going of processes cost `perceptron serve`.

    python benchmarks/scale.py cost [--partitions 1,64,200] [--client NAME]… [--scattered]
    python benchmarks/scale.py handover [--partitions 32] [--standby] [--rate N]
    python benchmarks/scale.py deploy [--partitions 96] [--rate 2000]
    python benchmarks/scale.py latency [--names N] [--hash-bits N] [--rate N]

`cost` prints, for each number of partitions and each Kafka client: processor time an event, once a quarter
of them is done; seconds from the start to `/readyz` of a second process, which has nothing to replay ;
the share of a core that it takes idle; and its memory. With `--scattered`, events lie in partitions in
turn, and their predictions elsewhere, each where its key belongs. `handover` lets two processes share the
partitions of a steady stream: one stops in order, comes back, and is killed. It prints for how long an event
waited at most until its prediction could be read: in partitions that stayed where they were, and in those
that moved. `--names` has so many features be learned before; with `--standby` each process keeps the models
of the other. `deploy` restarts each of three processes in order. It prints how long an event waited at most,
in any partition, how many predictions are missing or doubled, and whether `perceptron verify` proves the
stream. `latency` lets one process learn N features, and make a snapshot each 8 s under a steady stream. It
prints how long events waited until their predictions could be read, and how long an orderly stop takes.

`--results` adds each row to a file, as a line of JSON. `--serve` names the `perceptron` of another
installation, such as one of an earlier commit.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Final

# At the end: what is measured is the installed project, compiled, and not the sources next to this script.
sys.path.append(str(Path(__file__).parents[1]))

import data
import httpx
from broker import Running, Stream, environment, perceptron, shared_stream, unused
from confluent_kafka import Consumer, TopicPartition
from kafka import KafkaProducer

_CLIENTS: Final = ("confluent", "kafka-python")
_PARTITIONS: Final = {"cost": (1, 16, 64, 200), "handover": (32,), "deploy": (96,), "latency": (1,)}
_COLUMNS: Final = {
    "cost": ("microseconds", "ready_seconds", "idle_percent", "mebibytes"),
    "handover": ("process", "stay", "stay_silent_seconds", "move", "move_silent_seconds"),
    "deploy": ("silent_seconds", "events", "missing", "doubled", "proved"),
    "latency": ("names", "p50_ms", "p99_ms", "p999_ms", "longest_ms", "stop_seconds"),
}
_IDLE_SECONDS: Final = 10.0
_NAMES_AN_EVENT: Final = 200
"""Features of an event that is sent to make a model large."""
_SNAPSHOT_SECONDS: Final = 8
"""From one snapshot of a large model to the next."""
_STEADY_SECONDS: Final = 8.0
"""Between two events of a hand-over: longer than any of its effects is to last."""
_WARM_UP_SECONDS: Final = 60.0
"""Until a broker that was just started is as fast as one that has run for long."""
_SESSION_SECONDS: Final = 10.0
"""The default of `session_timeout_seconds`."""
_SPAWN: Final = multiprocessing.get_context("spawn")

Line = Mapping[str, float | str]


def _send(address: str, topic: str, rate: int, stop: Event, stored: Connection) -> None:
    """Send so many events a second until `stop`; then tell when the broker had each, by when it was sent.

    By the key, as the service does: the prediction of an event lies in the event's partition. kafka-python
    sends one request for what waits of all partitions; librdkafka's thousands a second would be the load.
    """
    found: dict[float, float] = {}
    producer = KafkaProducer(bootstrap_servers=address, linger_ms=5)
    values, began, n = [json.loads(value) for value in data.events(2000)], time.perf_counter(), 0
    while not stop.is_set():
        time.sleep(max(0.0, began + n / rate - time.perf_counter()))
        sent = time.perf_counter()
        value = values[n % len(values)] | {"id": f"{sent!r}"}
        written = producer.send(topic, json.dumps(value).encode(), f"{sent!r}".encode())
        written.add_callback(lambda _, sent=sent: found.__setitem__(sent, time.perf_counter()))
        n += 1
    producer.close()
    stored.send(found)


class Steady:
    """A steady stream to all partitions, and when the prediction of each event could be read.

    An event waits from the moment when the broker has it, which is the slower one on a busy machine.
    """

    def __init__(self, stream: Stream, settings: Mapping[str, object], partitions: int, rate: int) -> None:
        self._address, self._rate, self._partitions = stream.address, rate, partitions
        self._events, self._predictions = str(settings["events_topic"]), str(settings["predictions_topic"])
        self._stop = _SPAWN.Event()
        self._received: defaultdict[int, list[tuple[float, float]]] = defaultdict(list)
        """By partition: when an event was sent, and when its prediction was read."""
        self._stored: dict[float, float] = {}
        """When the broker had the event that was sent at a time."""

    @contextmanager
    def flowing(self) -> Iterator[None]:
        """Send and read for the length of a context."""
        here, there = _SPAWN.Pipe()
        sender = _SPAWN.Process(
            target=_send, args=(self._address, self._events, self._rate, self._stop, there)
        )
        reader = threading.Thread(target=self._read)
        sender.start()
        reader.start()
        try:
            yield
        finally:
            self._stop.set()
            self._stored |= here.recv()
            sender.join()
            reader.join()

    def _read(self) -> None:
        options = {
            "group.id": unused("reader"),
            "isolation.level": "read_committed",
            "auto.offset.reset": "earliest",
            # Else each record is a request about all partitions, and the broker is busy with this reader.
            "fetch.min.bytes": 1_000_000,
            "fetch.wait.max.ms": 20,
        }
        consumer = Consumer({"bootstrap.servers": self._address, **options})
        consumer.assign([TopicPartition(self._predictions, each, 0) for each in range(self._partitions)])
        while not self._stop.is_set():
            for message in consumer.consume(1000, 0.05):
                sent = float(json.loads(message.value())["id"])
                self._received[message.partition()].append((sent, time.perf_counter()))
        consumer.close()

    def missing_and_doubled(self, ended: float) -> tuple[int, int]:
        """Return how many events that were sent before have no prediction, and how many one too many."""
        found = Counter(sent for received in self._received.values() for sent, _ in received)
        missing = sum(sent < ended and sent not in found for sent in self._stored.copy())
        return missing, found.total() - len(found)

    def waits(self, began: float, ended: float, partitions: Collection[int]) -> list[float]:
        """Return how long each event waited that was sent in that time to one of these partitions."""
        received = [each for partition in partitions for each in self._received[partition]]
        found = [read - self._stored.get(sent, sent) for sent, read in received if began <= sent < ended]
        return sorted(found) or [0.0]


class Bench:
    """Processes of `perceptron serve` on topics of their own.

    Parameters
    ----------
    client, partitions, given
        Which Kafka client, how many partitions, and the arguments.

    """

    def __init__(self, client: str, partitions: int, given: argparse.Namespace) -> None:
        self._stream, self._partitions, self._given = shared_stream(), partitions, given
        names = ("events", "labels", "predictions", "dead_letters", "checkpoints")
        topics = {f"{name}_topic": self._stream.create(name.replace("_", "-"), partitions) for name in names}
        self._topic, self._group = topics["events_topic"], unused("scale")
        self._settings: dict[str, object] = {**topics, "group": self._group, "kafka_client": client}
        self._settings |= {"broker": f"kafka://{self._stream.address}"}
        self._steady = Steady(self._stream, self._settings, partitions, given.rate)
        self._processes = ExitStack()

    def cost(self) -> Iterable[Line]:
        """Measure one process."""
        n_events = self._given.events
        self._stream.fill(
            self._topic, data.events(n_events), self._partitions if self._given.scattered else 0
        )
        with self._progress() as progress:
            with self._start() as running:
                first = running.until(lambda: (found := progress()) >= n_events // 4 and found)
                began = running.processor_seconds()
                running.until(lambda: progress() >= n_events)
                micros = 1e6 * (running.processor_seconds() - began) / (n_events - first)
            began = time.perf_counter()
            with self._start() as running:
                _until_ready(running)
                ready = time.perf_counter() - began
                time.sleep(_IDLE_SECONDS / 2)
                busy = running.processor_seconds()
                time.sleep(_IDLE_SECONDS)
                busy = (running.processor_seconds() - busy) / _IDLE_SECONDS
                yield dict(
                    zip(_COLUMNS["cost"], (micros, ready, 100 * busy, running.peak_mebibytes()), strict=True)
                )

    def latency(self) -> Iterable[Line]:
        """Measure one process whose model knows many names."""
        self._settings |= {"hash_bits": self._given.hash_bits, "snapshot_interval_seconds": _SNAPSHOT_SECONDS}
        with self._start() as running:
            self._learn(running)
            with self._steady.flowing():
                time.sleep(_STEADY_SECONDS)
                began = time.perf_counter()
                time.sleep(4 * _SNAPSHOT_SECONDS)
                ended = time.perf_counter()
                time.sleep(_STEADY_SECONDS)
            waits = self._steady.waits(began, ended, [0])
            told = time.perf_counter()
        stopped = time.perf_counter() - told
        at = [1e3 * waits[int(share * (len(waits) - 1))] for share in (0.5, 0.99, 0.999, 1.0)]
        yield dict(zip(_COLUMNS["latency"], (self._given.names, *at, stopped), strict=True))

    def handover(self) -> Iterable[Line]:
        """Let a process stop, come back and be killed."""
        if self._given.standby:
            self._settings |= {"standby": 1, "snapshot_interval_seconds": _SNAPSHOT_SECONDS}
        with self._processes:
            first = self._join()
            if self._given.names:
                self._learn(first)
                time.sleep(2 * _SNAPSHOT_SECONDS)
            second = self._join()
            started: list[Running] = []
            with self._steady.flowing():
                time.sleep(_WARM_UP_SECONDS)
                changes = [self._change(lambda: os.kill(second.pid, signal.SIGTERM), _STEADY_SECONDS)]
                changes.append(
                    self._change(
                        lambda: started.append(self._processes.enter_context(self._start())),
                        2 * _STEADY_SECONDS,
                    )
                )
                killed_seconds = _SESSION_SECONDS + _STEADY_SECONDS
                changes.append(self._change(lambda: os.kill(started[0].pid, signal.SIGKILL), killed_seconds))
                time.sleep(_STEADY_SECONDS)  # what was sent last comes to be read
        for what, (stayed, began, ended) in zip(("stops", "joins", "is_killed"), changes, strict=True):
            moved = set(range(self._partitions)) - stayed
            longest = [self._steady.waits(began, ended, each)[-1] for each in (stayed, moved)]
            row = (what, len(stayed), longest[0], len(moved), longest[1])
            yield dict(zip(_COLUMNS["handover"], row, strict=True))

    def deploy(self) -> Iterable[Line]:
        """Let each of three processes stop in order and start again."""
        with self._processes:
            running = [self._join() for _ in range(3)]
            with self._steady.flowing():
                time.sleep(_WARM_UP_SECONDS)
                began = time.perf_counter()
                for each in running:
                    each.end()
                    self._join()
                time.sleep(_STEADY_SECONDS)
                ended = time.perf_counter()
                time.sleep(_STEADY_SECONDS)
        silent = self._steady.waits(began, ended, range(self._partitions))[-1]
        command = [self._given.serve, "verify", "--format", "json"]
        done = subprocess.run(
            command, env=environment(self._settings), capture_output=True, text=True, check=False
        )
        verdict = json.loads(done.stdout)
        proved = "yes" if verdict["proved"] else "no"
        row = (silent, verdict["predictions"], *self._steady.missing_and_doubled(ended), proved)
        yield dict(zip(_COLUMNS["deploy"], row, strict=True))

    def _start(self) -> Running:
        folder = self._stream.folder / unused("serve")
        folder.mkdir()
        return Running(folder, [self._given.serve, "serve"], {"http": "127.0.0.1:0", **self._settings})

    def _join(self) -> Running:
        running = self._processes.enter_context(self._start())
        _until_ready(running)
        return running

    def _progress(self) -> AbstractContextManager[Callable[[], int]]:
        return self._stream.progress(self._group, self._topic, self._partitions)

    def _learn(self, running: Running) -> None:
        """Let events with features of their own be learned; the bias alone does not predict their labels."""
        n_events = self._given.names // _NAMES_AN_EVENT
        self._stream.fill(self._topic, map(_named_event, range(n_events)), self._partitions)
        with self._progress() as progress:
            running.until(lambda: progress() >= n_events)

    def _change(self, act: Callable[[], object], seconds: float) -> tuple[set[int], float, float]:
        """Act and wait; return the partitions that stayed, when it began and when it ended."""
        before, began = self._owners(), time.perf_counter()
        act()
        time.sleep(seconds)
        after, ended = self._owners(), time.perf_counter()
        stayed = {each for member in before.keys() & after.keys() for each in before[member] & after[member]}
        return stayed, began, ended

    def _owners(self) -> Mapping[str, set[int]]:
        """Return the partitions of each member of the group."""
        found = self._stream.admin.describe_consumer_groups([self._group])[self._group].result()
        return {
            member.member_id: {
                at.partition for at in member.assignment.topic_partitions if at.topic == self._topic
            }
            for member in found.members
        }


def _named_event(n: int) -> bytes:
    features = {f"feature-{n * _NAMES_AN_EVENT + k:09}": 1.0 for k in range(_NAMES_AN_EVENT)}
    return json.dumps({"id": f"{-n}", "features": features, "label": not n % 2}).encode()


def _until_ready(running: Running) -> None:
    """Wait until `/readyz` says so, at the address that the process has printed."""

    def is_ready() -> bool:
        found = re.search(r"http://127\.0\.0\.1:\d+", running.log.read_text(errors="replace"))
        with suppress(httpx.TransportError):
            return found is not None and httpx.get(f"{found[0]}/readyz").is_success
        return False

    running.until(is_ready)


def main() -> None:
    """Print what was asked for, row by row."""
    given = _arguments()
    columns = _COLUMNS[given.what]
    print(f"{'client':14}{'partitions':>10}" + "".join(f"{name:>21}" for name in columns))
    for client in given.client or _CLIENTS:
        for partitions in given.partitions or _PARTITIONS[given.what]:
            for row in getattr(Bench(client, partitions, given), given.what)():
                cells = (
                    f"{each:21.2f}" if isinstance(each, float) else f"{each:>21}" for each in row.values()
                )
                print(f"{client:14}{partitions:10}" + "".join(cells), flush=True)
                if given.results:
                    about = {"what": given.what, "client": client, "partitions": partitions}
                    with given.results.open("a") as file:
                        file.write(json.dumps(about | row) + "\n")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=[*_PARTITIONS])
    parser.add_argument("--partitions", type=lambda text: [int(each) for each in text.split(",")])
    parser.add_argument("--client", action="append", choices=_CLIENTS)
    parser.add_argument("--events", type=int, default=400_000, help="of `cost`")
    parser.add_argument("--scattered", action="store_true", help="of `cost`: keys do not choose partitions")
    parser.add_argument("--rate", type=int, default=1000, help="events a second")
    parser.add_argument("--names", type=int, default=0, help="features that are learned before")
    parser.add_argument("--standby", action="store_true", help="of `handover`")
    parser.add_argument("--hash-bits", type=int, default=0, help="of `latency`")
    parser.add_argument("--results", type=Path, metavar="FILE")
    parser.add_argument("--serve", default=perceptron(), metavar="FILE")
    return parser.parse_args()


if __name__ == "__main__":
    main()
