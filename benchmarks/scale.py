"""What partitions and the coming and going of processes cost `perceptron serve`.

    python benchmarks/scale.py cost [--partitions 1,16,64,200] [--client NAME]… [--scattered] [--against F]…
    python benchmarks/scale.py handover [--partitions 32] [--names N] [--standby] [--rate N] [--against FILE]…
    python benchmarks/scale.py deploy [--partitions 96] [--client NAME]… [--rate 2000] [--share-model]
    python benchmarks/scale.py latency [--names N] [--hash-bits N] [--rate N] [--client NAME]… [--against F]

`cost` prints, for each number of partitions and each Kafka client: processor time an event, once a quarter
of them is done; seconds from the start to `/readyz` of a second process, which has nothing to learn again;
the share of a core that it takes idle; and its memory. With `--scattered`, events lie in partitions in
turn, and what answers them elsewhere, as it goes where its key belongs. `handover` lets two processes share
the partitions of a steady stream: one stops in order, comes back, and is killed. It prints for how long an
event waited at most until its prediction could be read: in partitions that stayed where they were, and in
those that moved. With `--names`, so many features are learned before; `--standby` has each process keep the
models of the other. `deploy` restarts each of three processes in order. It prints how long an event waited
at most, in any partition, how many predictions are missing or doubled, and whether `perceptron verify`
proves the stream. `latency` lets one process learn N features, and make a snapshot each 8 s under a steady
stream. It prints how long events waited until their predictions could be read, and how long an orderly stop
takes.

`--results` adds each row to a file, as a line of JSON. `--against` names the `perceptron` of another
installation, such as one of an earlier commit: it is measured in turns with this one.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Final, NamedTuple

# At the end: what is measured is the installed project, compiled, and not the sources beside this script.
sys.path.append(str(Path(__file__).parents[1]))

import httpx
from measures.examples import events
from measures.processes import peak_mebibytes, processor_seconds
from measures.steady import Steady
from measures.stream import LOG, Running, Stream, environment, perceptron, shared_stream, unused

_CLIENTS: Final = ("confluent", "kafka-python")
_IDLE_SECONDS: Final = 10.0
_STEADY_SECONDS: Final = 8.0
"""Between two events of a hand-over: longer than any of its effects is to last."""
_WARM_UP_SECONDS: Final = 60.0
"""Until a broker that was just started is as fast as one that has run for long."""
_SESSION_SECONDS: Final = 10.0
"""The default of `session_timeout_seconds`."""
_PARTITIONS: Final = {"cost": (1, 16, 64, 200), "handover": (32,), "deploy": (96,), "latency": (1,)}
_RATES: Final = {"deploy": 2000}
_PROCESSES: Final = 3
_COST_COLUMNS: Final = f"{'us/event':>9}{'ready s':>9}{'idle %':>9}{'MiB':>9}"
_HANDOVER_COLUMNS: Final = f"{'a process':16}{'stay':>8}{'silent s':>9}{'move':>8}{'silent s':>9}"
_DEPLOY_COLUMNS: Final = f"{'silent s':>9}{'events':>9}{'missing':>9}{'doubled':>9}{'proved':>9}"
_LATENCY_COLUMNS: Final = f"{'names':>9}{'p50 ms':>9}{'p99 ms':>9}{'p99.9':>9}{'longest':>9}{'stop s':>9}"
_NAMES: Final = {
    "cost": ("microseconds", "ready_seconds", "idle_percent", "mebibytes"),
    "handover": ("process", "stay", "stay_silent_seconds", "move", "move_silent_seconds"),
    "deploy": ("silent_seconds", "events", "missing", "doubled", "proved"),
    "latency": ("names", "p50_ms", "p99_ms", "p999_ms", "longest_ms", "stop_seconds"),
}
"""What the columns are called in a file of results."""
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


def cost(
    stream: Stream, build: Build, client: str, partitions: int, n_events: int, *, scattered: bool
) -> str:
    """Measure one process; return a row."""
    settings = settings_of(stream, partitions, client)
    topic, group = str(settings["events_topic"]), str(settings["group"])
    stream.fill(topic, events(n_events), partitions if scattered else 0)
    with stream.progress(group, topic, partitions) as progress:
        with Process(stream, build, settings).running as running:
            first = running.until(lambda: (found := progress()) >= n_events // 4 and found)
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
    stream, build, client, partitions, given
        Where, what, with which Kafka client, and the arguments.

    """

    def __init__(
        self, stream: Stream, build: Build, client: str, partitions: int, given: argparse.Namespace
    ) -> None:
        self._stream, self._build = stream, build
        self._settings = settings_of(stream, partitions, client)
        if given.share_model:
            self._settings |= {"share_model": True, "mixes_topic": unused("mixes")}
        if given.standby:
            self._settings |= {"standby": 1, "snapshot_interval_seconds": _SNAPSHOT_SECONDS}
        self._n_learned = given.names // _NAMES_AN_EVENT if given.what == "handover" else 0
        self._partitions = range(partitions)
        self._steady = Steady(stream, self._settings, partitions, given.rate)
        self._stack = ExitStack()

    def rows(self) -> Iterator[str]:
        """Let a process stop, come back and be killed; yield a row for each."""
        with self._stack:
            self._start().until_ready()
            self._learn()
            second = self._start()
            second.until_ready()
            with self._steady.flowing():
                time.sleep(_WARM_UP_SECONDS)
                changes = [self._change(lambda: os.kill(second.pid, signal.SIGTERM), _STEADY_SECONDS)]
                started: list[Process] = []
                changes.append(self._change(lambda: started.append(self._start()), 2 * _STEADY_SECONDS))
                killed_seconds = _SESSION_SECONDS + _STEADY_SECONDS
                changes.append(self._change(lambda: os.kill(started[0].pid, signal.SIGKILL), killed_seconds))
                time.sleep(_STEADY_SECONDS)  # what was sent last comes to be read
        for what, change in zip(("stops in order", "joins", "is killed"), changes, strict=True):
            yield self._row(what, *change)

    def _learn(self) -> None:
        """Let as many features be learned as were asked for, and be in a snapshot."""
        if not self._n_learned:
            return
        topic, group = str(self._settings["events_topic"]), str(self._settings["group"])
        n_partitions = len(self._partitions)
        self._stream.fill(topic, named_events(self._n_learned * _NAMES_AN_EVENT), n_partitions)
        with self._stream.progress(group, topic, n_partitions) as progress:
            while progress() < self._n_learned:
                time.sleep(_STEADY_SECONDS / 10)
        time.sleep(2 * _SNAPSHOT_SECONDS)

    def _start(self) -> Process:
        process = Process(self._stream, self._build, self._settings)
        self._stack.enter_context(process.running)
        return process

    def _change(self, act: Callable[[], object], seconds: float) -> tuple[set[int], float, float]:
        """Act and wait; return the partitions that stayed, when it began and when it ended."""
        before, began = self._owners(), time.perf_counter()
        act()
        time.sleep(seconds)
        after, ended = self._owners(), time.perf_counter()
        stayed = {each for member in before.keys() & after.keys() for each in before[member] & after[member]}
        return stayed, began, ended

    def _row(self, what: str, stayed: set[int], began: float, ended: float) -> str:
        moved = set(self._partitions) - stayed
        longest = [self._steady.longest_wait(began, ended, each) for each in (stayed, moved)]
        return f"{what:16}{len(stayed):8}{longest[0]:9.1f}{len(moved):8}{longest[1]:9.1f}"

    def deploy(self) -> str:
        """Let each of three processes stop in order and start again; return a row."""
        with self._stack:
            processes = [self._start() for _ in range(_PROCESSES)]
            for each in processes:
                each.until_ready()
            with self._steady.flowing():
                time.sleep(_WARM_UP_SECONDS)
                began = time.perf_counter()
                for each in processes:
                    each.running.end()
                    self._start().until_ready()
                time.sleep(_STEADY_SECONDS)
                ended = time.perf_counter()
                time.sleep(_STEADY_SECONDS)
            silent = self._steady.longest_wait(began, ended, self._partitions)
            missing, doubled = self._steady.missing_and_doubled(ended)
        command = [self._build.command, "verify", "--format", "json"]
        settings = {**self._settings, "broker": f"kafka://{self._stream.address}"}
        verdict = json.loads(
            subprocess.run(
                command, env=environment(settings), capture_output=True, text=True, check=False
            ).stdout
        )
        proved = "yes" if verdict["proved"] else "no"
        return f"{silent:9.1f}{verdict['predictions']:9}{missing:9}{doubled:9}{proved:>9}"

    def _owners(self) -> Mapping[str, set[int]]:
        """Return the partitions of each member of the group."""
        group, topic = str(self._settings["group"]), self._settings["events_topic"]
        found = self._stream.admin.describe_consumer_groups([group])[group].result()
        return {
            member.member_id: {at.partition for at in member.assignment.topic_partitions if at.topic == topic}
            for member in found.members
        }


def rows(
    given: argparse.Namespace, stream: Stream, build: Build, client: str, partitions: int
) -> Iterable[str]:
    """Measure what was asked for; yield rows."""
    if given.what == "cost":
        return [cost(stream, build, client, partitions, given.events, scattered=given.scattered)]
    if given.what == "latency":
        return [latency(stream, build, client, given)]
    hand_over = HandOver(stream, build, client, partitions, given)
    return [hand_over.deploy()] if given.what == "deploy" else hand_over.rows()


def record(given: argparse.Namespace, build: Build, client: str, partitions: int, row: str) -> None:
    """Add a row to the file of results."""
    names = _NAMES[given.what]
    found = dict(zip(names, row.strip().rsplit(maxsplit=len(names) - 1), strict=True))
    about = {"what": given.what, "build": build.name, "client": client, "partitions": partitions}
    with given.results.open("a") as file:
        file.write(json.dumps(about | found) + "\n")


def main() -> None:
    """Print what was asked for, row by row."""
    given = _arguments()
    builds = [Build("this one", perceptron()), *(Build(each, each) for each in given.against)]
    stream = shared_stream()
    columns = {
        "cost": _COST_COLUMNS,
        "handover": _HANDOVER_COLUMNS,
        "deploy": _DEPLOY_COLUMNS,
        "latency": _LATENCY_COLUMNS,
    }[given.what]
    print(f"{'client':14}{'partitions':>10}  {columns}  installation")
    for client in given.client or _CLIENTS:
        for partitions in given.partitions or _PARTITIONS[given.what]:
            for build in builds:
                for row in rows(given, stream, build, client, partitions):
                    print(f"{client:14}{partitions:10}  {row}  {build.name}", flush=True)
                    if given.results:
                        record(given, build, client, partitions, row)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=[*_PARTITIONS])
    parser.add_argument("--partitions", type=lambda text: [int(each) for each in text.split(",")])
    parser.add_argument("--client", action="append", choices=_CLIENTS)
    parser.add_argument("--events", type=int, default=400_000, help="of `cost`")
    parser.add_argument(
        "--scattered", action="store_true", help="of `cost`: keys do not choose the partitions"
    )
    parser.add_argument("--rate", type=int, help="events a second")
    parser.add_argument("--share-model", action="store_true", help="of `handover` and `deploy`")
    parser.add_argument("--names", type=int, help="of `latency` (1,000,000) and `handover` (0)")
    parser.add_argument("--standby", action="store_true", help="of `handover`")
    parser.add_argument("--hash-bits", type=int, default=0, help="of `latency`")
    parser.add_argument("--results", type=Path, metavar="FILE")
    parser.add_argument("--against", action="append", default=[], metavar="FILE")
    given = parser.parse_args()
    if given.names is None:
        given.names = 1_000_000 if given.what == "latency" else 0
    given.rate = given.rate or _RATES.get(given.what, 1000)
    return given


if __name__ == "__main__":
    main()
