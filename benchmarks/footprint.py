"""`POST /predict` against what is written by hand, and what a snapshot costs."""

from __future__ import annotations

import contextlib
import json
import select
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import fmean, median
from time import perf_counter
from typing import Final

from broker import PEERS, Running, perceptron, require_proc, until_exit
from measures import Contestant, Prepare

from service.checkpoints.log import Address, snapshot_records
from service.checkpoints.snapshot import Snapshot
from service.loop.restore import restore
from service.partition.factory import make_processor
from service.settings.fields import fingerprint
from service.settings.load import Settings
from service.stream.opening import open_transport

_CONNECTIONS = 16
_REQUESTS, _QUICK_REQUESTS = 5000, 1000
_WARM_UP = 200
_WEIGHTS = 1_000_000
"""Also when told to be quick: the goal is about this size, and time does not grow in proportion."""
_BODY = json.dumps(
    {
        "id": "m-17",
        "text": "win a prize now, with lunch and eleven more words in a plain text of no great length",
    }
)
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

    def has_response(self) -> bool:
        """Read what has come; return whether it is a whole response; raise `RuntimeError` for an error."""
        self._received += self.socket.recv(65_536)
        head, end, body = self._received.partition(b"\r\n\r\n")
        if not end or len(body) < int(head.partition(b"content-length: ")[2].partition(b"\r")[0]):
            return False
        if not head.startswith(b"HTTP/1.1 200"):
            raise RuntimeError(self._received.decode())
        self._received = b""
        return True

    def milliseconds(self) -> float:
        """Ask, and wait for the response; return how long that took."""
        began = perf_counter()
        self.ask()
        while not self.has_response():
            pass
        return 1000 * (perf_counter() - began)


def _rate(port: int, count: int) -> float:
    """Return requests a second on several connections, each of which always waits for a response."""
    poll, connections = select.poll(), {}
    for _ in range(_CONNECTIONS):
        connection = _Connection(port)
        connections[connection.socket.fileno()] = connection
        poll.register(connection.socket, select.POLLIN)
        connection.ask()
    began, done = perf_counter(), 0
    while done < count:
        for place, _ in poll.poll():
            if connections[place].has_response():
                done += 1
                connections[place].ask()
    seconds = perf_counter() - began
    for connection in connections.values():
        connection.socket.close()
    return done / seconds


def _responds(port: int) -> bool:
    """Return whether a server responds by now."""
    with contextlib.suppress(OSError, RuntimeError, ValueError), contextlib.closing(_Connection(port).socket):
        _Connection(port).milliseconds()
        return True
    return False


def _asked(folder: Path, count: int, *command: str) -> Sequence[float]:
    """Start a server on a free port, which stands for PORT in its command, and ask it."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with Running(folder, [each.replace("PORT", str(port)) for each in command], {}) as running:
        running.until(partial(_responds, port))
        connection = _Connection(port)
        taken = [connection.milliseconds() for _ in range(_WARM_UP + count)][_WARM_UP:]
        connection.socket.close()
        before = running.processor_seconds()
        rate = _rate(port, count)
        return median(taken), rate, 1e6 * (running.processor_seconds() - before) / count


def _folder() -> Path:
    return Path(until_exit.enter_context(tempfile.TemporaryDirectory()))


def _requests(quick: bool) -> tuple[Contestant, Contestant]:  # noqa: FBT001
    require_proc()
    folder, count = _folder(), _QUICK_REQUESTS if quick else _REQUESTS
    taught = {"win a prize": True, "see you at lunch": False}
    lines = (json.dumps({"id": text, "text": text, "label": label}) for text, label in taught.items())
    (folder / "events.ndjson").write_text("\n".join(lines), encoding="utf-8")
    broker = ("--broker", f"sqlite:///{folder / 'stream.db'}")
    produce = [perceptron(), "produce", str(folder / "events.ndjson"), *broker]
    subprocess.run(produce, check=True, capture_output=True)
    ours = partial(_asked, folder, count, perceptron(), "serve", *broker, "--http", "127.0.0.1:PORT")
    return ours, partial(_asked, folder, count, sys.executable, str(PEERS / "river_fastapi.py"), "PORT")


def _snapshot(_: bool) -> tuple[Contestant, None]:  # noqa: FBT001
    settings, names = Settings(labels_topic=""), [f"text=word{n}" for n in range(_WEIGHTS)]
    transport = open_transport(f"sqlite:///{_folder()}/stream.db")
    until_exit.callback(transport.close)
    transport.ensure_topics({settings.events_topic: 1, settings.checkpoints_topic: 1})
    processor = make_processor(settings)
    processor.learner.learn({name: n + 0.5 for n, name in enumerate(names)}, True)  # noqa: FBT003 - a label
    snapshot = Snapshot(1, {(settings.events_topic, 0): 0}, fingerprint(settings), processor.state(), {})
    records = snapshot_records(snapshot, Address(settings.checkpoints_topic, 0, settings.group))
    transport.produce(records)
    size = sum(len(record.value or b"") for record in records) / len(names)

    def ours() -> Sequence[float]:
        began = perf_counter()
        restored = restore(transport, settings, 0)
        seconds = perf_counter() - began
        found = restored.processor.learner.weights()
        if found is None or len(found[0]) != len(names):
            raise RuntimeError(f"restored something else than {len(names)} weights")
        return seconds, size - fmean(map(len, names))

    return ours, None


MEASURES: Final[Mapping[str, Prepare]] = {"requests": _requests, "snapshot": _snapshot}
