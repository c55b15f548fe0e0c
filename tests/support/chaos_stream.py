"""A stream under attack: a log that is being written, and services that are killed, frozen and replaced.

It starts the processes to be killed and frozen, and reads the topics afterwards.
"""

from __future__ import annotations

import contextlib
import json
import re
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Self

import httpx

from service.errors import TopicMissing, TransportError, TransportUnavailable
from service.partition.factory import open_stream
from service.settings.load import Settings
from service.stream.protocol import Output, Record
from tests.service.poison import MAX_MESSAGE_BYTES
from tests.support.chaos_log import Message
from tests.support.perceptron_process import NO_CERTIFICATES, environment
from tests.support.speed import patience

PARTITIONS = 4
DEADLINE_SECONDS = patience(300.0)


class ChaosStream:
    """Topics and a group of one's own.

    Parameters
    ----------
    broker
        The stream.
    given
        Settings of the service that differ from its defaults; `labels_topic=""` puts the labels among
        the events.

    """

    def __init__(self, broker: str, **given: object) -> None:
        suffix = uuid.uuid4().hex[:8]
        names = ("events", "labels", "predictions", "dead_letters", "checkpoints")
        self.given: dict[str, object] = {
            "broker": broker,
            "group": f"chaos-{suffix}",
            "partitions": PARTITIONS,
            "http": "",
            "session_timeout_seconds": 2,
            "max_message_bytes": MAX_MESSAGE_BYTES,
            **{f"{name}_topic": f"{name.replace('_', '-')}-{suffix}" for name in names},
            **given,
        }
        flat: dict[str, Any] = {"kafka": {}}
        for name, value in self.given.items():
            table, in_table, entry = name.partition("__")
            flat |= {table: {**flat.get(table, {}), entry: value}} if in_table else {name: value}
        self.settings = Settings(**flat)
        self.transport = open_stream(self.settings, broker)
        self.transport.ensure_topics(dict.fromkeys(self.inputs, self.settings.partitions))

    @property
    def inputs(self) -> Sequence[str]:
        """The topics that the service reads, the leading one first."""
        return [topic for topic in (self.settings.events_topic, self.settings.labels_topic) if topic]

    def produce(self, messages: Sequence[Message]) -> None:
        """Write messages, each to the topic it belongs to."""
        events, labels = self.inputs[0], self.inputs[-1]
        self.transport.produce(
            [
                Output(labels if m.is_label else events, m.key, m.value, timestamp_ms=m.timestamp_ms)
                for m in messages
            ]
        )

    def records(self, topic: str, partition: int) -> Sequence[Record]:
        return list(self.transport.read(topic, partition))

    def committed(self) -> Sequence[int]:
        """Return a number for each partition that grows with each commit of the service.

        An unreachable stream is asked again: the service is being tested, not its observer.
        """
        topic = self.settings.checkpoints_topic
        partitions = range(1 if self.settings.share_model else self.settings.partitions)
        deadline = time.monotonic() + DEADLINE_SECONDS
        while True:
            try:
                return [self.transport.bounds(topic, partition)[1] for partition in partitions]
            except TopicMissing:
                return []
            except TransportUnavailable:
                if time.monotonic() > deadline:
                    raise
            time.sleep(0.1)

    def verify(self) -> dict[str, Any]:
        """Run `perceptron verify`, and return its verdict; an unreachable stream is asked again."""
        deadline = time.monotonic() + DEADLINE_SECONDS
        while True:
            ran = subprocess.run(
                [sys.executable, "-m", "service", "verify", "--format", "json"],
                env=environment({**self.given, "http": ""}),
                capture_output=True,
                text=True,
                check=False,
            )
            if ran.stdout or time.monotonic() > deadline:
                break
        assert ran.stdout, ran.stderr
        verdict: dict[str, Any] = json.loads(ran.stdout)
        assert (ran.returncode == 0) is verdict["proved"]
        return verdict

    def close(self) -> None:
        self.transport.close()


class Feeder:
    """Writes a log on a thread of its own, never further than it was allowed to; a stream that is away
    is tried again, which may write a message twice.
    """

    def __init__(self, stream: ChaosStream, log: Sequence[Message], *, chunk: int = 40) -> None:
        self._stream = stream
        self._log = log
        self._chunk = chunk
        self._allowed = 0
        self._changed = threading.Condition()
        self._written = 0
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="feeder", daemon=True)

    def allow(self, ratio: float) -> None:
        """Let this share of the log be written."""
        with self._changed:
            self._allowed = round(len(self._log) * ratio)
            self._changed.notify_all()

    def allow_more(self, ratio: float) -> None:
        """Let this share of the log be written beyond what is allowed."""
        self.allow(self._allowed / len(self._log) + ratio)

    def finish(self) -> None:
        """Write the rest, and wait for it."""
        self.allow(1.0)
        self._thread.join(3 * DEADLINE_SECONDS)
        assert not self._thread.is_alive(), f"only {self._written} of {len(self._log)} could be written"
        if self._failure is not None:
            raise self._failure

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        with self._changed:
            self._allowed = -1
            self._changed.notify_all()
        self._thread.join(DEADLINE_SECONDS)

    def _run(self) -> None:
        rest = iter(self._log)
        try:
            while messages := list(islice(rest, self._chunk)):
                with self._changed:
                    self._changed.wait_for(lambda: self._allowed < 0 or self._allowed > self._written)
                    if self._allowed < 0:
                        return
                self._write(messages)
                self._written += len(messages)
        except BaseException as error:  # noqa: BLE001 - raised again by `finish`
            self._failure = error

    def _write(self, messages: Sequence[Message]) -> None:
        deadline = time.monotonic() + 3 * DEADLINE_SECONDS  # longer than a broker is ever away here
        while self._allowed >= 0:
            try:
                self._stream.produce(messages)
            except TransportError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.1)
            else:
                return


class Service:
    """`perceptron serve` on a chaos stream, as a process."""

    def __init__(self, stream: ChaosStream, folder: Path, *arguments: str, **given: object) -> None:
        self._stream, self._folder = stream, folder
        self._err = folder / f"{uuid.uuid4().hex[:8]}.err"
        settings: Mapping[str, object] = stream.given | given
        with self._err.open("wb") as err:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "service", "serve", *arguments],
                cwd=folder,
                env=environment(settings),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=err,
            )

    def again(self, *arguments: str, **given: object) -> Service:
        """Start another one on the same stream."""
        return Service(self._stream, self._folder, *arguments, **given)

    @property
    def stderr(self) -> str:
        return self._err.read_text(encoding="utf-8", errors="replace")

    def eventually(self, claim: Callable[[], bool], within_seconds: float = DEADLINE_SECONDS) -> None:
        """Wait until the claim holds; the process must not end meanwhile."""
        deadline = time.monotonic() + within_seconds
        while not claim():
            assert self.process.poll() is None, f"it ended with {self.process.returncode}: {self.stderr}"
            assert time.monotonic() < deadline, f"this did not happen in time; stderr: {self.stderr}"
            time.sleep(0.05)

    def says(self, words: str) -> bool:
        return words in self.stderr

    def serving(self) -> Self:
        """Wait until its loop begins."""
        self.eventually(lambda: self.says("serving "))
        return self

    def address(self) -> str:
        """Return the URL of its server, empty before it is known; it must have been started with `http`."""
        found = re.search(r"http://127\.0\.0\.1:\d+", self.stderr)
        return found[0] if found else ""

    def readiness(self) -> int:
        """Return the status of /readyz; it must have been started with `http`. 0 if no one answers."""
        return self._get("/readyz").status_code if self.address() else 0

    def metrics(self) -> str:
        """Return what /metrics says; it must have been started with `http`, and be ready."""
        return self._get("/metrics").text

    def _get(self, path: str) -> httpx.Response:
        try:
            return httpx.get(self.address() + path, timeout=10, verify=NO_CERTIFICATES)
        except httpx.TransportError:
            return httpx.Response(0)

    def ready(self) -> Self:
        """Wait until /readyz says that it processes events."""
        self.eventually(lambda: self.readiness() == httpx.codes.OK)
        return self

    def kill(self) -> None:
        """End it as a power cut would; it must run."""
        assert self.process.poll() is None, f"it ended with {self.process.returncode}: {self.stderr}"
        self.end()

    def freeze(self) -> None:
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self.process.send_signal(signal.SIGCONT)

    def stop(self) -> int:
        """End it as an operator would (SIGTERM); return the exit code."""
        self.process.terminate()
        return self.wait()

    def wait(self, timeout_seconds: float = DEADLINE_SECONDS) -> int:
        """Wait until it ends, as long as it continues to commit; return the exit code."""
        before: Sequence[int] | None = None
        while True:
            with contextlib.suppress(subprocess.TimeoutExpired):
                return self.process.wait(timeout_seconds)
            if before == (before := self._stream.committed()):
                raise AssertionError(f"it did not end; stderr: {self.stderr}")

    def end(self) -> None:
        """Leave nothing running, whatever state it is in."""
        self.process.kill()
        self.process.wait()


@contextlib.contextmanager
def services(folder: Path) -> Iterator[Callable[..., Service]]:
    """Yield a starter of services; whatever is left of them is killed at the end."""
    with contextlib.ExitStack() as stack:

        def start(stream: ChaosStream, *arguments: str, **given: object) -> Service:
            service = Service(stream, folder, *arguments, **given)
            stack.callback(service.end)
            return service

        yield start
