"""A real Kafka broker under the measures: topics filled beforehand, and a look at how fast a group commits.

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

from tests.support.kafka_broker import KafkaBroker, NoBroker

from .base import ProcessFailed, Unavailable

PEERS = Path(__file__).parents[1] / "peers"
PEER_BATCHES = (1000, 5000, 20_000)
"""Messages in a transaction at most: a peer is measured with the one that suits it best."""
DEFAULT_CLIENT = "kafka-python"
COMMIT_INTERVAL_SECONDS = 0.1
"""The defaults of `perceptron serve`."""

_GLANCE_SECONDS = 0.05
"""Between two looks: at ten times as many, answering them takes the broker 3 % of a core."""
_DEADLINE_SECONDS = 180.0
_ANSWER_SECONDS = 10.0
_FILL_AT_ONCE = 500_000
_NOT_YET = frozenset(
    {
        KafkaError.NOT_COORDINATOR,
        KafkaError.COORDINATOR_NOT_AVAILABLE,
        KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    }
)
"""What a broker answers to the first of a new group, while it finds a place for it.

`peers/quix_river.py` has the same: it runs in an environment of its own.
"""
_WARM_UP_MESSAGES = 100_000
_LAST_LINES = 20

LOG = "process.log"
"""What a process prints, in the folder that it runs in."""

_until_exit = contextlib.ExitStack()
atexit.register(_until_exit.close)


class Stream:
    """One broker; topics and groups on it have names that nobody else uses.

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

    def serve(self, events_topic: str, group: str, *options: str, **settings: object) -> Running:
        """Start `perceptron serve OPTIONS` on a topic, everything else at its default or as given."""
        names = ("labels", "predictions", "dead_letters", "checkpoints")
        topics = {f"{name}_topic": unused(name.replace("_", "-")) for name in names}
        given = {
            "broker": f"kafka://{self.address}",
            "group": group,
            "events_topic": events_topic,
            "http": "127.0.0.1:0",
            **topics,
            **settings,
        }
        return Running(self.folder, [perceptron(), "serve", *options], given)

    def peer(self, command: Sequence[str], *arguments: object) -> Running:
        """Start one of the programs in benchmarks/peers on this broker."""
        return Running(self.folder, [*command, self.address, *map(str, arguments)], {})

    def shares(self, group: str) -> Sequence[int]:
        """Count the partitions of each member of a group."""
        try:
            found = self.admin.describe_consumer_groups([group])[group].result()
        except KafkaException as error:
            if not _is_getting_ready(error):
                raise
            return []
        return [len(member.assignment.topic_partitions) for member in found.members]

    @contextlib.contextmanager
    def progress(self, group: str, topic: str, partitions: int = 1) -> Iterator[Callable[[], int]]:
        """Yield a function that counts the messages of a topic whose offsets a group has committed."""
        observer = Consumer(
            {"bootstrap.servers": self.address, "group.id": group, "isolation.level": "read_uncommitted"}
        )
        places = [TopicPartition(topic, partition) for partition in range(partitions)]

        def count() -> int:
            try:
                return sum(max(0, place.offset) for place in observer.committed(places, _ANSWER_SECONDS))
            except KafkaException as error:
                if not _is_getting_ready(error):
                    raise
                return 0

        try:
            yield count
        finally:
            observer.close()

    def rate(self, running: Running, progress: Callable[[], int], count: int) -> float:
        """Watch a process commit until `progress` returns `count`; return messages per second."""
        first = running.until(progress)
        began = time.perf_counter()
        last = running.until(lambda: (done := progress()) >= count and done)
        return (last - first) / (time.perf_counter() - began)


class Running:
    """A process for the length of a context, with these settings of the service and no others."""

    def __init__(self, folder: Path, command: Sequence[str], settings: Mapping[str, object]) -> None:
        self._log = folder / LOG
        with self._log.open("wb") as log:
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
                raise ProcessFailed(f"a process got nowhere: {self._last_words()}")
            time.sleep(_GLANCE_SECONDS)
        return found

    def _last_words(self) -> str:
        lines = self._log.read_text(errors="replace").strip().splitlines()[-_LAST_LINES:]
        return "\n".join([*lines[-1:], "before that:", *lines[:-1], f"command: {self._process.args!r}"])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.end()

    def end(self) -> None:
        """Stop it in order; kill it if that takes long. Idempotent."""
        self._process.terminate()
        try:
            self._process.wait(_ANSWER_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


@functools.cache
def shared_stream() -> Stream:
    """Start the broker that all measures share, at the first call; it ends with this process.

    Raises
    ------
    Unavailable
        No broker can be started on this machine.

    """
    folder = Path(_until_exit.enter_context(tempfile.TemporaryDirectory(prefix="perceptron-bench-")))
    try:
        address = os.environ.get("PERCEPTRON_TEST_KAFKA") or _until_exit.enter_context(KafkaBroker()).address
    except NoBroker as reason:
        raise Unavailable(str(reason)) from reason
    stream = Stream(address, folder)
    _warm_up(stream)
    return stream


def _warm_up(stream: Stream) -> None:
    """Let the broker's JVM compile what it will need, and create its topics for groups and transactions.

    Until these are there, the first of the processes on a new broker is told that it has no coordinator.
    """
    topic, output, group = stream.create("warm-up"), stream.create("warm-up"), unused("warm-up")
    stream.fill(topic, [b"v" * 200] * _WARM_UP_MESSAGES)
    command = [sys.executable, str(PEERS / "bare_kafka_python.py")]
    running = stream.peer(command, topic, output, group, PEER_BATCHES[0], 100)
    with running, stream.progress(group, topic) as progress:
        running.until(lambda: progress() >= _WARM_UP_MESSAGES)


def _is_getting_ready(error: KafkaException) -> bool:
    """Return whether a broker answered that it is not ready yet for a group."""
    return error.args[0].code() in _NOT_YET


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
    """Make a name that nobody else uses."""
    return f"{name}-{uuid.uuid4().hex[:8]}"
