"""`perceptron serve` on a real broker: what an event costs and how long it takes, against loops by hand."""

from __future__ import annotations

import functools
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import median, quantiles
from typing import Any, Final, NamedTuple

import data
from broker import PEERS, Stream, shared_stream, unused
from confluent_kafka import Consumer, Producer, TopicPartition
from measures import Contestant, Prepare, ProcessFailed, Unavailable

LABEL_DELAY = 100
"""Events between an event and its label, where that comes late."""
PEER_BATCHES = (1000, 5000, 20_000)
"""Messages in a transaction at most: a peer is measured with the one that suits it best."""

_EVENTS, _QUICK_EVENTS = 500_000, 100_000
_LONG, _QUICK_LONG = 2_000_000, 400_000
"""Seconds of work for the fastest; a run of one second differed by half from the next."""
_HASH_BITS = 18
_PEER_SHARE = 0.05
"""Of the events, for peers, which are in Python."""
_EVENTS_PER_SECOND, _LEAD_IN_EVENTS = 1000, 1000
_SECONDS, _QUICK_SECONDS = 6, 3
_PATIENCE_SECONDS = 30.0

_BACKLOGS: Final[dict[str, Callable[[int], Iterable[bytes]]]] = {
    "inline": data.events,
    "late": lambda count: data.with_late_labels(count, LABEL_DELAY),
    "texts": data.text_events,
}


@functools.cache
def backlog(kind: str, count: int) -> str:
    """Return a topic of so many events, filled once for all measures that work through the same."""
    stream = shared_stream()
    topic = stream.create("events")
    stream.fill(topic, _BACKLOGS[kind](count))
    return topic


class Cost(NamedTuple):
    """What one process of `perceptron serve` took for a backlog."""

    microseconds: float
    """Processor time per event."""
    rate: float
    """Events per second."""
    peak_mebibytes: float


def catch_up(client: str, topic: str, count: int, messages: int = 1, **settings: Any) -> Cost:  # noqa: ANN401 - of any type
    """Let one process work through a topic of so many events, of some messages each.

    Time is read where the consumer group has committed a tenth and nine tenths of the messages, so that
    neither start nor end counts and the process is as far ahead of its commits at both.
    """
    stream, group, total = shared_stream(), unused("serve"), count * messages
    running = stream.serve(topic, group, kafka_client=client, labels_topic="", **settings)
    with running, stream.progress(group, topic) as progress:

        def reached(least: int) -> tuple[int, float, float]:
            done = running.until(lambda: (found := progress()) >= least and found)
            return done, running.processor_seconds(), time.perf_counter()

        first, last = reached(total // 10), reached(total * 9 // 10)
        reached(total)
        peak = running.peak_mebibytes()
    done, used, seconds = (b - a for a, b in zip(first, last, strict=True))
    events = done / messages
    return Cost(used / events * 1e6, events / seconds, peak)


def _cost(client: str, kind: str, settings: dict[str, Any], quick: bool) -> tuple[Contestant, None]:  # noqa: FBT001
    count = _QUICK_EVENTS if quick else _EVENTS
    topic = backlog(kind, count)
    return (lambda: catch_up(client, topic, count, **settings)[:2]), None


def _late(client: str, quick: bool) -> tuple[Contestant, Contestant]:  # noqa: FBT001
    count = _QUICK_EVENTS if quick else _EVENTS
    late, inline = backlog("late", count), backlog("inline", count)
    return (
        lambda: [catch_up(client, late, count, messages=2).microseconds],
        lambda: [catch_up(client, inline, count).microseconds],
    )


def _memory(client: str, quick: bool) -> tuple[Contestant, None]:  # noqa: FBT001
    count = _QUICK_LONG if quick else _LONG
    topic = backlog("inline", count)
    return (lambda: [catch_up(client, topic, count).peak_mebibytes]), None


def quix() -> Sequence[str]:
    """Return the command of the peer with Quix Streams, which pins other releases than the project's."""
    python = Path(sys.prefix).parent / "quix" / "bin" / "python"
    if not python.exists():
        raise Unavailable(f"no Quix Streams at {python}; `make bench` installs it")
    return str(python), str(PEERS / "quix_river.py")


def _against(
    client: str,
    peer: Callable[[], Sequence[str]],
    quick: bool,  # noqa: FBT001
) -> tuple[Contestant, Contestant]:
    stream, count = shared_stream(), _QUICK_LONG if quick else _LONG
    command, topic = peer(), backlog("inline", count)
    fastest: list[int] = []

    def ours() -> Sequence[float]:
        group = unused("serve")
        return [stream.rate(stream.serve(topic, group, kafka_client=client), group, topic, count)]

    def once(batch: int) -> float:
        group, output = unused("peer"), stream.create("outputs")
        running = stream.peer(command, topic, output, group, batch)
        return stream.rate(running, group, topic, int(count * _PEER_SHARE))

    def theirs() -> Sequence[float]:
        if not fastest:
            fastest.append(best_batch(once, PEER_BATCHES))
        return [once(fastest[0])]

    return ours, theirs


def best_batch(run: Callable[[int], float], batches: Sequence[int]) -> int:
    """Return the batch with which a peer is fastest; one with which it fails does not count.

    Raises
    ------
    ProcessFailed
        It failed with each of them.

    """
    rates: dict[int, float] = {}
    failure = ProcessFailed("no batches to choose from")
    for batch in batches:
        try:
            rates[batch] = run(batch)
        except ProcessFailed as found:
            print(f"a peer fails with transactions of {batch:,} messages: {found}", file=sys.stderr)
            failure = found
    if not rates:
        raise failure
    return max(rates, key=rates.__getitem__)


def _by_hand(client: str, what: str) -> Callable[[], Sequence[str]]:
    return lambda: (sys.executable, str(PEERS / "by_hand.py"), client, what)


def _latency(quick: bool) -> tuple[Contestant, None]:  # noqa: FBT001
    count = 1 + _LEAD_IN_EVENTS + (_QUICK_SECONDS if quick else _SECONDS) * _EVENTS_PER_SECOND
    return partial(_waits, shared_stream(), [*data.events(count)]), None


def _waits(stream: Stream, values: Sequence[bytes]) -> Sequence[float]:
    """Produce events at a steady rate; return the median and the 99th percentile of ms to the prediction."""
    sent, read = [0.0] * len(values), [0.0] * len(values)
    topic, predictions, group = stream.create("events"), stream.create("predictions"), unused("serve")

    def watch() -> None:
        """Read committed predictions, whose key is the event's id, until there is one for every event."""
        options = {"group.id": unused("reader"), "isolation.level": "read_committed"}
        consumer = Consumer({"bootstrap.servers": stream.address, **options})
        consumer.assign([TopicPartition(predictions, 0, 0)])
        missing = len(values)
        while missing and (message := consumer.poll(_PATIENCE_SECONDS)) is not None:
            read[int(message.key().removeprefix(b"event-"))] = time.perf_counter()
            missing -= 1
        consumer.close()

    with stream.serve(topic, group, predictions_topic=predictions) as running:
        with stream.progress(group, topic) as progress:
            stream.fill(topic, values[:1])
            running.until(progress)
        reader = threading.Thread(target=watch)
        reader.start()
        # Neither linger nor Nagle: the producer's own delay is not what is measured.
        options = {"linger.ms": 0, "socket.nagle.disable": True}
        producer = Producer({"bootstrap.servers": stream.address, **options})
        began = time.perf_counter()
        for n in range(1, len(values)):
            time.sleep(max(0.0, began + n / _EVENTS_PER_SECOND - time.perf_counter()))
            sent[n] = time.perf_counter()
            producer.produce(topic, values[n], partition=0)
            producer.poll(0)
        producer.flush()
        reader.join()
    if not all(read):
        raise ProcessFailed(f"{read.count(0.0)} of {len(read)} predictions did not come in time")
    waits = [1000 * (b - a) for a, b in zip(sent, read, strict=True)][1 + _LEAD_IN_EVENTS :]
    return median(waits), quantiles(waits, n=100)[98]


MEASURES: Final[Mapping[str, Prepare]] = {
    "cost-confluent": partial(_cost, "confluent", "inline", {}),
    "cost-kafka-python": partial(_cost, "kafka-python", "inline", {}),
    "text-serve": partial(
        _cost, "confluent", "texts", {"model": "arow", "text": "words", "hash_bits": _HASH_BITS}
    ),
    "late-confluent": partial(_late, "confluent"),
    "late-kafka-python": partial(_late, "kafka-python"),
    "memory-confluent": partial(_memory, "confluent"),
    "memory-kafka-python": partial(_memory, "kafka-python"),
    "serve-kafka-python": partial(_against, "kafka-python", _by_hand("kafka-python", "bare")),
    "serve-confluent": partial(_against, "confluent", _by_hand("confluent", "bare")),
    "river-kafka-python": partial(_against, "kafka-python", _by_hand("kafka-python", "river")),
    "river-confluent": partial(_against, "confluent", _by_hand("confluent", "river")),
    "serve-quix": partial(_against, "confluent", quix),
    "latency": _latency,
}
