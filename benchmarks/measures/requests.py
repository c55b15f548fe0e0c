"""`POST /predict` of a text: the median of one connection, and requests a second on several."""

from __future__ import annotations

import contextlib
import json
import select
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from statistics import median

from . import processes
from .base import Contest, Goal, Measure, Row
from .stream import PEERS, Running, perceptron

_CONNECTIONS = 16
_REQUESTS, _QUICK_REQUESTS = 5000, 1000
_WARM_UP = 200
_PATIENCE_SECONDS = 60.0
_TEXT = "win a prize now, with lunch and eleven more words in a plain text of no great length"
_END_OF_HEAD = b"\r\n\r\n"
_LENGTH = b"content-length: "


_BODY = json.dumps({"id": "m-17", "text": _TEXT})
_ASKED = (
    "POST /predict HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    f"Content-Length: {len(_BODY)}\r\n\r\n{_BODY}"
).encode()


class _Connection:
    """One request at a time, with so little work that the client is not what is measured."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._received = b""

    def ask(self) -> None:
        """Send a request."""
        self.socket.sendall(_ASKED)

    def has_answer(self) -> bool:
        """Read what has come; return whether it is a whole answer. Raises `RuntimeError` if it is none."""
        self._received += self.socket.recv(65_536)
        head, end, body = self._received.partition(_END_OF_HEAD)
        if not end or len(body) < int(head.partition(_LENGTH)[2].partition(b"\r")[0]):
            return False
        if not head.startswith(b"HTTP/1.1 200"):
            raise RuntimeError(self._received.decode())
        self._received = b""
        return True


def _milliseconds(port: int, count: int) -> float:
    """Return the median of requests that follow each other."""
    connection, taken = _Connection(port), []
    for _ in range(_WARM_UP + count):
        began = time.perf_counter()
        connection.ask()
        while not connection.has_answer():
            pass
        taken.append(1000 * (time.perf_counter() - began))
    connection.socket.close()
    return median(taken[_WARM_UP:])


def _rate(port: int, count: int) -> float:
    """Return requests a second on several connections, each of which always waits for an answer."""
    poll, connections = select.poll(), {}
    for _ in range(_CONNECTIONS):
        connection = _Connection(port)
        connections[connection.socket.fileno()] = connection
        poll.register(connection.socket, select.POLLIN)
        connection.ask()
    began, done = time.perf_counter(), 0
    while done < count:
        for place, _ in poll.poll():
            if connections[place].has_answer():
                done += 1
                connections[place].ask()
    seconds = time.perf_counter() - began
    for connection in connections.values():
        connection.socket.close()
    return done / seconds


def _measured(folder: Path, count: int, *command: str) -> Sequence[float]:
    """Start a server on a free port, which stands for PORT in its command, and ask it."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with Running(folder, [each.replace("PORT", str(port)) for each in command], {}) as running:
        running.until(partial(_answers, port))
        taken = _milliseconds(port, count)
        before = processes.processor_seconds(running.pid)
        rate = _rate(port, count)
        microseconds = 1e6 * (processes.processor_seconds(running.pid) - before) / count
        return taken, rate, microseconds


def _answers(port: int) -> bool:
    """Return whether a server answers questions by now."""
    try:
        connection = _Connection(port)
        connection.ask()
        while not connection.has_answer():
            pass
    except (OSError, RuntimeError, ValueError):
        return False
    return True


@contextlib.contextmanager
def _contest(quick: bool) -> Iterator[Contest]:  # noqa: FBT001 - what `Measure.prepare` is called with
    processes.require()
    count = _QUICK_REQUESTS if quick else _REQUESTS
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        events = folder / "events.ndjson"
        taught = {"win a prize": True, "see you at lunch": False}
        lines = (json.dumps({"id": text, "text": text, "label": label}) for text, label in taught.items())
        events.write_text("\n".join(lines), encoding="utf-8")
        broker = ("--broker", f"sqlite:///{folder / 'stream.db'}")
        subprocess.run([perceptron(), "produce", str(events), *broker], check=True, capture_output=True)
        ours = partial(_measured, folder, count, perceptron(), "serve", *broker, "--http", "127.0.0.1:PORT")
        peer = partial(_measured, folder, count, sys.executable, str(PEERS / "river_fastapi.py"), "PORT")
        yield Contest(ours, peer)


_HOW = "A text of 17 words on loopback, both servers on what is installed of httptools and uvloop"

MEASURES = (
    Measure(
        "requests",
        (
            Row(
                "request-median",
                "POST /predict of a text, one connection / FastAPI + River by hand",
                "ms",
                Goal(0.8, at_least=False),
                f"{_HOW}; the median.",
            ),
            Row(
                "requests",
                f"POST /predict of a text, {_CONNECTIONS} connections / FastAPI + River by hand",
                "requests/s",
                Goal(2),
                f"{_HOW}; each connection always waits for an answer.",
            ),
            Row(
                "request-time",
                "The same, processor time a request / FastAPI + River by hand",
                "µs",
                Goal(0.5, at_least=False),
                f"{_HOW}; of the server's process, per request.",
            ),
        ),
        _contest,
    ),
)
