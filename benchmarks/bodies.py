"""How many events a second come in by HTTP, several in a body, and what they cost.

    python benchmarks/bodies.py [--broker URL] [--kafka-client NAME] [--events 200000] [--lines 4000]

Starts `perceptron serve`, posts NDJSON bodies of events with 12 features and a label on three connections,
and waits until the last one is processed. Where others use the machine, processor time says more.
With `--predict` the bodies are questions.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import queue
import random
import tempfile
import threading
import time
from pathlib import Path
from urllib.parse import urlsplit

from posts import service

OK = 200
CONNECTIONS = 3
POLL_SECONDS = 0.1
RETRY_SECONDS = 1.0


def event(number: int, chance: random.Random, *, is_question: bool) -> bytes:
    """Make a line."""
    features = {f"f{n}": round(chance.random(), 4) for n in range(12)}
    label = {} if is_question else {"label": chance.random() < 0.5}
    return json.dumps({"id": f"e{number}", "features": features, **label}, separators=(",", ":")).encode()


def post(place: str, path: str, bodies: queue.SimpleQueue[bytes | None]) -> None:
    """Send bodies, each until it is taken."""
    connection = http.client.HTTPConnection(place)
    while (body := bodies.get()) is not None:
        while True:
            connection.request("POST", path, body, {"Content-Type": "application/x-ndjson"})
            answer = connection.getresponse()
            answer.read()
            if answer.status == OK:
                break
            time.sleep(RETRY_SECONDS)


def processor_seconds(process: int) -> float:
    """Return the processor time of a process so far, of all its threads."""
    fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def n_predicted(place: str) -> float:
    """Return how many events are processed."""
    connection = http.client.HTTPConnection(place)
    connection.request("GET", "/metrics")
    lines = connection.getresponse().read().decode().splitlines()
    return sum(float(line.split()[-1]) for line in lines if line.startswith("perceptron_predictions_total{"))


def main() -> None:
    """Run the service and send it bodies."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--broker", help="default: a SQLite file of its own")
    parser.add_argument("--kafka-client", default="confluent")
    parser.add_argument("--events", type=int, default=200_000)
    parser.add_argument("--lines", type=int, default=4000, help="of a body")
    parser.add_argument("--predict", action="store_true", help="ask, and append nothing")
    given = parser.parse_args()
    chance, bodies = random.Random(1), queue.SimpleQueue[bytes | None]()
    lines = [event(number, chance, is_question=given.predict) for number in range(given.events)]
    for start in range(0, len(lines), given.lines):
        bodies.put(b"\n".join(lines[start : start + given.lines]))
    first = queue.SimpleQueue[bytes | None]()
    for each in (event(-1, chance, is_question=False), None):
        first.put(each)
    with tempfile.TemporaryDirectory() as folder:
        broker = given.broker or f"sqlite:///{folder}/stream.db"
        with service(broker, given.kafka_client) as (url, process):
            measure(urlsplit(url).netloc, process, first, bodies, given)


def measure(
    place: str,
    process: int,
    first: queue.SimpleQueue[bytes | None],
    bodies: queue.SimpleQueue[bytes | None],
    given: argparse.Namespace,
) -> None:
    """Send the bodies; report."""
    post(place, "/events", first)
    began, used = time.perf_counter(), processor_seconds(process)
    path = "/predict" if given.predict else "/events"
    threads = [threading.Thread(target=post, args=(place, path, bodies)) for _ in range(CONNECTIONS)]
    for thread in threads:
        bodies.put(None)
        thread.start()
    for thread in threads:
        thread.join()
    report("acknowledged", given.events, began, processor_seconds(process) - used)
    while not given.predict and n_predicted(place) < given.events:
        time.sleep(POLL_SECONDS)
    report("processed", given.events, began, processor_seconds(process) - used)


def report(what: str, count: int, began: float, used: float) -> None:
    """Print the rate, and the processor time for each event."""
    rate = count / (time.perf_counter() - began)
    print(f"{what}: {rate:,.0f} events/s, {1e6 * used / count:.1f} µs of processor time an event")


if __name__ == "__main__":
    main()
