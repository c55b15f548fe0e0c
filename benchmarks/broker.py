"""A real Kafka broker under the measures, and the processes that work on it.

A contestant is a process of its own. Its clock runs from the first commit of its consumer group that is seen
to the last: neither its start nor its end counts. Its predictions are visible by then, as they are
committed in the same transaction.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import os
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Self

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from measures import ProcessFailed, Unavailable

from tests.support.kafka_broker import KafkaBroker, NoBroker

PEERS = Path(__file__).with_name("peers")
_GLANCE_SECONDS = 0.05
"""Between two looks: at ten times as many, answering them takes the broker 3 % of a core."""
_DEADLINE_SECONDS = 180.0
_RESPONSE_SECONDS = 10.0
_FILL_AT_ONCE = 500_000
_NOT_YET = frozenset(
    {
        KafkaError.NOT_COORDINATOR,
        KafkaError.COORDINATOR_NOT_AVAILABLE,
        KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    }
)
"""The response of a broker to the first request of a new group, before it has a coordinator."""
_WARM_UP_MESSAGES = 100_000
_LAST_LINES = 20
LOG = "process.log"
"""What a process prints, in the folder that it runs in."""

until_exit = contextlib.ExitStack()
"""Ends what all measures share."""
atexit.register(until_exit.close)


class Stream:
    """One broker; topics and groups on it have names that no other process uses.

    Parameters
    ----------
    address
        The broker's `host:port`.
    folder
        Where processes run and leave their log.

    """

    def __init__(self, address: str, folder: Path) -> None:
        self.address = address
        self.folder = folder
        self.admin = AdminClient({"bootstrap.servers": address})

    def create(self, name: str, partitions: int = 1) -> str:
        """Create a topic; return its full name."""
        topic = unused(name)
        for created in self.admin.create_topics([NewTopic(topic, partitions, 1)]).values():
            created.result()
        return topic

    def fill(self, topic: str, values: Iterable[bytes], in_turn: int = 0) -> None:
        """Write values under keys as short as ids, which choose the partitions; or these in turn."""
        producer = Producer(
            {
                "bootstrap.servers": self.address,
                "linger.ms": 50,
                "partitioner": "murmur2_random",
                "queue.buffering.max.messages": 2_000_000,
            }
        )
        for n, value in enumerate(values):
            producer.produce(topic, value, b"event-%d" % n, n % in_turn if in_turn else -1)
            if n % _FILL_AT_ONCE == 0:
                producer.flush()
        producer.flush()

    def serve(self, events_topic: str, group: str, **settings: object) -> Running:
        """Start `perceptron serve` on a topic, everything else at its default or as given."""
        names = ("labels", "predictions", "dead_letters", "checkpoints")
        given = {f"{name}_topic": unused(name.replace("_", "-")) for name in names} | {
            "broker": f"kafka://{self.address}",
            "group": group,
            "events_topic": events_topic,
            "create_topics": "all",
            "http": "127.0.0.1:0",
        }
        return Running(self.folder, [perceptron(), "serve"], given | settings)

    def peer(self, command: Sequence[str], *arguments: object) -> Running:
        """Start a program of benchmarks/peers on this broker."""
        return Running(self.folder, [*command, self.address, *map(str, arguments)], {})

    @contextlib.contextmanager
    def progress(self, group: str, topic: str, partitions: int = 1) -> Iterator[Callable[[], int]]:
        """Yield a function that counts the messages of a topic whose offsets a group has committed."""
        observer = Consumer(
            {"bootstrap.servers": self.address, "group.id": group, "isolation.level": "read_uncommitted"}
        )
        places = [TopicPartition(topic, partition) for partition in range(partitions)]

        def count() -> int:
            try:
                return sum(max(0, place.offset) for place in observer.committed(places, _RESPONSE_SECONDS))
            except KafkaException as error:
                if error.args[0].code() not in _NOT_YET:
                    raise
                return 0

        try:
            yield count
        finally:
            observer.close()

    def rate(self, running: Running, group: str, topic: str, count: int) -> float:
        """Watch a process commit until it has done `count`, then end it; return messages per second."""
        with running, self.progress(group, topic) as progress:
            first = running.until(progress)
            began = time.perf_counter()
            last = running.until(lambda: (done := progress()) >= count and done)
            return (last - first) / (time.perf_counter() - began)


class Running:
    """A process for the length of a context, with these settings of the service and no others."""

    def __init__(self, folder: Path, command: Sequence[str], settings: Mapping[str, object]) -> None:
        self.log = folder / LOG
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(
                command,
                cwd=folder,
                env=environment(settings),
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
            )

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid

    def processor_seconds(self) -> float:
        """Return the processor time so far: of all threads, in the system's code too."""
        # The program's name may have blanks and brackets in it; the numbers begin after its last bracket.
        numbers = Path(f"/proc/{self.pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        return (int(numbers[11]) + int(numbers[12])) / os.sysconf("SC_CLK_TCK")

    def peak_mebibytes(self) -> float:
        """Return the most memory that has been in use (the resident set) since it began."""
        lines = Path(f"/proc/{self.pid}/status").read_text(encoding="utf-8").splitlines()
        return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM:"))

    def until(self, what: Callable[[], int]) -> int:
        """Wait until something is not 0, and return it.

        Raises
        ------
        ProcessFailed
            The process ended before, or it took too long.

        """
        deadline = time.monotonic() + _DEADLINE_SECONDS
        while not (found := what()):
            if self._process.poll() is not None or time.monotonic() > deadline:
                lines = self.log.read_text(errors="replace").strip().splitlines()[-_LAST_LINES:]
                said = "\n".join([*lines[-1:], "before that:", *lines[:-1]])
                raise ProcessFailed(f"a process got nowhere: {said}\ncommand: {self._process.args!r}")
            time.sleep(_GLANCE_SECONDS)
        return found

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.end()

    def end(self) -> None:
        """Stop it in order; kill it if that takes long. Idempotent."""
        self._process.terminate()
        try:
            self._process.wait(_RESPONSE_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


@functools.cache
def shared_stream() -> Stream:
    """Start the broker that all measures share, at the first call; it ends with this process.

    Raises
    ------
    Unavailable
        No broker can be started on this machine, or it has no /proc to read a process's time from.

    """
    require_proc()
    folder = Path(until_exit.enter_context(tempfile.TemporaryDirectory(prefix="perceptron-bench-")))
    try:
        address = os.environ.get("PERCEPTRON_TEST_KAFKA") or until_exit.enter_context(KafkaBroker()).address
    except NoBroker as reason:
        raise Unavailable(str(reason)) from reason
    stream = Stream(address, folder)
    # Its JVM compiles what it will need, and it creates its topics for groups and transactions: until then
    # the first of the processes is notified that it has no coordinator.
    topic, output, group = stream.create("warm-up"), stream.create("warm-up"), unused("warm-up")
    stream.fill(topic, [b"v" * 200] * _WARM_UP_MESSAGES)
    command = [sys.executable, str(PEERS / "by_hand.py"), "kafka-python", "bare"]
    stream.rate(stream.peer(command, topic, output, group, 1000), group, topic, _WARM_UP_MESSAGES)
    return stream


def require_proc() -> None:
    """Raise `Unavailable` where the system does not tell the time and the memory of a process."""
    if not Path("/proc/self/status").exists():
        raise Unavailable("this system has no /proc to read a process's time and memory from")


def environment(settings: Mapping[str, object]) -> dict[str, str]:
    """Return the environment of a process with these settings of the service and no others.

    It may keep the bytecode of modules, as an installed service does.
    """
    left_out = ("PERCEPTRON_", "PYTHONDONTWRITEBYTECODE")
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(left_out)}
    return inherited | {f"PERCEPTRON_{name.upper()}": str(value) for name, value in settings.items()}


def perceptron() -> str:
    """Return the path of the command `perceptron` in the environment that this runs in."""
    return str(Path(sys.executable).with_name("perceptron"))


def unused(name: str) -> str:
    """Make a name that no other process uses."""
    return f"{name}-{uuid.uuid4().hex[:8]}"
