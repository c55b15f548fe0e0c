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
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Final

# At the end: what is measured is the installed project, compiled, and not the sources beside this script.
sys.path.append(str(Path(__file__).parents[1]))

from measures.examples import events
from measures.hand_over import HandOver
from measures.processes import peak_mebibytes, processor_seconds
from measures.serving import (
    NAMES_AN_EVENT,
    SNAPSHOT_SECONDS,
    STEADY_SECONDS,
    Build,
    Process,
    named_events,
    settings_of,
)
from measures.steady import Steady
from measures.stream import Stream, perceptron, shared_stream

_CLIENTS: Final = ("confluent", "kafka-python")
_IDLE_SECONDS: Final = 10.0
_PARTITIONS: Final = {"cost": (1, 16, 64, 200), "handover": (32,), "deploy": (96,), "latency": (1,)}
_RATES: Final = {"deploy": 2000}
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


def latency(stream: Stream, build: Build, client: str, given: argparse.Namespace) -> str:
    """Measure one process whose model knows many names; return a row."""
    settings = settings_of(stream, 1, client) | {
        "hash_bits": given.hash_bits,
        "snapshot_interval_seconds": SNAPSHOT_SECONDS,
    }
    topic, group = str(settings["events_topic"]), str(settings["group"])
    stream.fill(topic, named_events(given.names))
    steady = Steady(stream, settings, 1, given.rate)
    with stream.progress(group, topic) as progress:
        process = Process(stream, build, settings)
        with process.running as running:
            running.until(lambda: progress() >= given.names // NAMES_AN_EVENT)
            with steady.flowing():
                time.sleep(STEADY_SECONDS)
                began = time.perf_counter()
                time.sleep(4 * SNAPSHOT_SECONDS)
                ended = time.perf_counter()
                time.sleep(STEADY_SECONDS)
            waits = sorted(steady.waits(began, ended, [0]))
            told = time.perf_counter()
    stopped = time.perf_counter() - told
    at = [1e3 * waits[int(share * (len(waits) - 1))] for share in (0.5, 0.99, 0.999, 1.0)]
    return f"{given.names:9}" + "".join(f"{each:9.0f}" for each in at) + f"{stopped:9.2f}"


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
