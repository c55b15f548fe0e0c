"""How long `POST /labels` and `POST /events` take beside a loop that is busy.

    python benchmarks/posts.py [--broker URL] [--rate 200] [--load 1000] [--seconds 30] [--kafka-client NAME]

Starts `perceptron serve`, feeds it `--load` events a second through the stream, from a process of its own,
and posts `--rate` labels a second, and a tenth as many events: each is sent when its time has come, whatever
became of those before, and timed from then. As many `GET /livez` show what the server and the machine take
without an append. With `--predict N` it asks N questions a second; `--rate 0` leaves them alone. A Kafka
broker that has just started takes half a minute until its virtual machine is fast: measure the second time.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import multiprocessing
import random
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from service.settings.kafka import KafkaClient
from service.stream import Output
from service.transport import open_transport

GOAL_MILLISECONDS: Final = 25.0
"""99th percentile of `POST /labels` at 200 requests a second."""
FEED_SECONDS: Final = 0.1
KINDS: Final = 1000
"""Different events of those that are fed."""
OK: Final = 200
UNCOUNTED_SECONDS: Final = 3.0
"""At the beginning: the first append of a partition waits for the loop to make it ready."""
CONNECTIONS: Final = 100
"""Half of what the server takes. A request that waits for one waits for the service, and is timed so."""
SHARE_OF_OTHERS: Final = 0.1


class Connections:
    """A few connections that stay open, one request on each at a time."""

    def __init__(self, url: str) -> None:
        self._host, self._port = urlsplit(url).hostname, urlsplit(url).port
        self._free: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []
        self._open_ones = asyncio.Semaphore(CONNECTIONS)

    async def request(self, method: str, path: str, body: bytes = b"") -> int:
        """Send a request; return the status of the answer."""
        async with self._open_ones:
            while True:
                with suppress(ConnectionError, asyncio.IncompleteReadError):  # it was idle for too long
                    return await self._request(method, path, body)

    async def _request(self, method: str, path: str, body: bytes) -> int:
        reader, writer = self._free.pop() if self._free else await self._open()
        head = f"{method} {path} HTTP/1.1\r\nHost: {self._host}\r\nContent-Type: application/json\r\n"
        writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        answered = await reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"content-length: (\d+)", answered, re.IGNORECASE)
        await reader.readexactly(int(length[1]) if length else 0)
        self._free.append((reader, writer))
        return int(answered.split()[1])

    async def _open(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection(self._host, self._port)


@contextmanager
def service(broker: str, kafka_client: str) -> Iterator[tuple[str, int]]:
    """Run the service; yield its URL and the number of its process."""
    options = ["--broker", broker, "--kafka-client", kafka_client, "--http", "127.0.0.1:0"]
    command = [sys.executable, "-m", "service", "serve", *options]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if found := re.search(r"http://127\.0\.0\.1:\d+", line):
                break
        else:
            raise RuntimeError("the service has ended")
        threading.Thread(target=process.stderr.read, daemon=True).start()
        try:
            yield found[0], process.pid
        finally:
            process.terminate()


def event(name: str, chance: random.Random) -> dict[str, object]:
    """Make an event of ten features."""
    return {"id": name, "features": {f"f{n}": chance.random() for n in range(10)}}


def feed(broker: str, kafka_client: KafkaClient, load: int) -> None:
    """Write `load` events a second, each with its label, to the stream, until it is ended."""
    transport, chance = open_transport(broker, kafka_client=kafka_client), random.Random(1)
    transport.ensure_topics({"events": 1})
    endings = [
        json.dumps(event("", chance) | {"label": chance.random() < 0.5})[len('{"id": "') :].encode()
        for _ in range(KINDS)
    ]
    at_once, began = round(load * FEED_SECONDS), time.perf_counter()
    for turn in itertools.count():
        names = [b"fed-%d" % number for number in range(turn * at_once, (turn + 1) * at_once)]
        transport.produce(
            [
                Output("events", name, b'{"id": "%s%s' % (name, ending))
                for name, ending in zip(names, itertools.cycle(endings), strict=False)
            ]
        )
        time.sleep(max(0.0, began + (turn + 1) * FEED_SECONDS - time.perf_counter()))


async def measure(url: str, rate: int, seconds: float, n_predict: int = 0) -> dict[str, list[float]]:
    """Send requests of each kind at `rate`; return the milliseconds that each took."""
    connections, chance = Connections(url), random.Random(2)
    found: defaultdict[str, list[float]] = defaultdict(list)
    while await connections.request("GET", "/readyz") != OK:  # noqa: ASYNC110 - of another process
        await asyncio.sleep(FEED_SECONDS)
    began = time.perf_counter() + 0.1

    async def send(due: float, method: str, path: str, message: object) -> None:
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        status = await connections.request(method, path, json.dumps(message).encode() if message else b"")
        taken = 1000 * (time.perf_counter() - due)
        assert status in {200, 202}, f"{path}: {status}"
        if due - began > UNCOUNTED_SECONDS:
            found[f"{method} {path}"].append(taken)

    async with asyncio.TaskGroup() as tasks:
        turns = rate or n_predict
        for number in range(round(turns * (seconds + UNCOUNTED_SECONDS))):
            due = began + number / turns
            await asyncio.sleep(max(0.0, due - 0.05 - time.perf_counter()))
            name = f"posted-{number}"
            for part in range(n_predict // turns):
                at = due + part / n_predict
                tasks.create_task(send(at, "POST", "/predict", event(name, chance)))
            if rate:
                tasks.create_task(send(due, "POST", "/labels", {"id": name, "label": True}))
            if rate and chance.random() < SHARE_OF_OTHERS:
                tasks.create_task(send(due, "GET", "/livez", None))
                tasks.create_task(send(due, "POST", "/events?wait_seconds=0", event(name, chance)))
    return found


def report(found: dict[str, list[float]]) -> None:
    """Print percentiles in milliseconds."""
    print(f"{'':<32}{'requests':>9}{'median':>9}{'90 %':>9}{'99 %':>9}{'worst':>9}")
    for name, taken in sorted(found.items()):
        ordered = sorted(taken)
        shown = [ordered[min(len(ordered) - 1, int(share * len(ordered)))] for share in (0.5, 0.9, 0.99, 1)]
        print(f"{name:<32}{len(ordered):>9,}" + "".join(f"{each:>9.1f}" for each in shown))
    labels = sorted(found.get("POST /labels", []))
    if not labels:
        return
    reached = labels[int(0.99 * len(labels))] <= GOAL_MILLISECONDS
    print(f"99 % of POST /labels within {GOAL_MILLISECONDS:g} ms: {'yes' if reached else 'NO'}")


def main() -> None:
    """Run the service, its load and the requests."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--broker", help="default: a SQLite file of its own")
    parser.add_argument("--kafka-client", default="kafka-python")
    parser.add_argument("--rate", type=int, default=200, help="labels a second")
    parser.add_argument("--predict", type=int, default=0, help="POST /predict a second")
    parser.add_argument("--load", type=int, default=1000, help="events a second through the stream")
    parser.add_argument("--seconds", type=float, default=30.0)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        broker = given.broker or f"sqlite:///{Path(folder) / 'stream.db'}"
        with service(broker, given.kafka_client) as (url, _):
            feeding = multiprocessing.get_context("spawn").Process(
                target=feed, args=(broker, given.kafka_client, given.load)
            )
            feeding.start()
            try:
                report(asyncio.run(measure(url, given.rate, given.seconds, given.predict)))
            finally:
                feeding.terminate()
                feeding.join()


if __name__ == "__main__":
    main()
