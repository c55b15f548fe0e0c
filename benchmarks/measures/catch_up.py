"""What it costs `perceptron serve` to catch up with a backlog: processor time an event, and memory."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final, NamedTuple

from . import backlogs, processes
from .base import Contest, Goal, Measure, Reading, Row
from .examples import sms_source
from .stream import DEFAULT_CLIENT, shared_stream, unused

_EVENTS, _QUICK_EVENTS = 500_000, 100_000
_MEMORY_EVENTS, _QUICK_MEMORY_EVENTS = 2_000_000, 200_000
_HASH_BITS = 18


class Cost(NamedTuple):
    """What one process of `perceptron serve` took for a backlog."""

    microseconds: float
    """Processor time per event."""
    rate: float
    """Events per second."""
    peak_mebibytes: float


def catch_up(client: str, topic: str, count: int, messages: int = 1, **settings: object) -> Cost:
    """Let one process work through a topic of so many events, of some messages each.

    Time is read where the consumer group has committed a tenth and nine tenths of the messages, so that
    neither start nor end counts and the process is as far ahead of its commits at both.
    """
    stream, group, total = shared_stream(), unused("serve"), count * messages
    options = [] if client == DEFAULT_CLIENT else ["--kafka-client", client]
    running = stream.serve(topic, group, *options, labels_topic="", **settings)
    with running, stream.progress(group, topic) as progress:

        def reached(least: int) -> tuple[int, float, float]:
            done = running.until(lambda: (found := progress()) >= least and found)
            return done, processes.processor_seconds(running.pid), time.perf_counter()

        first, last = reached(total // 10), reached(total * 9 // 10)
        reached(total)
        peak = processes.peak_mebibytes(running.pid)
    done, used, seconds = (b - a for a, b in zip(first, last, strict=True))
    events = done / messages
    return Cost(used / events * 1e6, events / seconds, peak)


def _cost(client: str, topic: str, count: int, **settings: object) -> Sequence[float]:
    return catch_up(client, topic, count, 1, **settings)[:2]


def _microseconds(client: str, topic: str, count: int, messages: int = 1) -> Sequence[float]:
    return (catch_up(client, topic, count, messages).microseconds,)


@contextlib.contextmanager
def _inline(client: str, quick: bool) -> Iterator[Contest]:  # noqa: FBT001 - what `Measure.prepare` is called with
    processes.require()
    count = _QUICK_EVENTS if quick else _EVENTS
    yield Contest(partial(_cost, client, backlogs.inline_labels(count), count))


@contextlib.contextmanager
def _late(client: str, quick: bool) -> Iterator[Contest]:  # noqa: FBT001
    processes.require()
    count = _QUICK_EVENTS if quick else _EVENTS
    yield Contest(
        partial(_microseconds, client, backlogs.late_labels(count), count, messages=2),
        partial(_microseconds, client, backlogs.inline_labels(count), count),
    )


@contextlib.contextmanager
def _texts(client: str, quick: bool) -> Iterator[Contest]:  # noqa: FBT001
    processes.require()
    count = _QUICK_EVENTS if quick else _EVENTS
    given = {"model": "arow", "text": "words", "hash_bits": _HASH_BITS}
    yield Contest(partial(_cost, client, backlogs.texts(count), count, **given))


@contextlib.contextmanager
def _memory(client: str, quick: bool) -> Iterator[Contest]:  # noqa: FBT001
    processes.require()
    count = _QUICK_MEMORY_EVENTS if quick else _MEMORY_EVENTS
    topic = backlogs.inline_labels(count)
    yield Contest(lambda: (catch_up(client, topic, count).peak_mebibytes,))


_TIME = (
    "Processor time of the process, all threads, its own code and the system's, from the commit of a tenth "
    f"of {_EVENTS:,} events to that of nine tenths; settings at their defaults"
)
_INLINE = f"{_TIME}; JSON of 12 features, labels included, one partition."
_LATE = (
    "The same, each label in a message of its own on the events topic, "
    f"{backlogs.LABEL_DELAY} events after its event; the peer is the same client with labels inline."
)
_TEXTS = f"{_TIME} but for AROW, hashed to {_HASH_BITS} bits; JSON of a text ({sms_source()}) and its label."
_MEMORY = f"The largest resident set of the process after {_MEMORY_EVENTS:,} events of 12 features."


def _with_rate(name: str, title: str, goal: float, how: str) -> Sequence[Row]:
    """Return a row of processor time and, beside it, one of the wall-clock rate of the same run."""
    return (
        Row(name, f"{title}, processor time per event", "µs", _at_most(goal, "µs"), how, Reading.AMOUNT),
        Row(f"{name}-rate", f"{title}, wall clock", "events/s", None, "The same run.", Reading.AMOUNT),
    )


def _at_most(bound: float, unit: str = "×") -> Goal:
    return Goal(bound, unit, at_least=False)


def _cost_measure(client: str, goal: float) -> Measure:
    name = f"cost-{client}"
    return Measure(name, _with_rate(name, f"serve, {client}", goal, _INLINE), partial(_inline, client))


def _late_measure(client: str) -> Measure:
    name, title = f"late-{client}", f"serve, {client}, late labels / inline, processor time per event"
    return Measure(name, (Row(name, title, "µs", _at_most(1.6), _LATE),), partial(_late, client))


def _memory_measure(client: str) -> Measure:
    name, title = f"memory-{client}", f"serve, {client}, memory in a catch-up"
    row = Row(name, title, "MiB", _at_most(300, "MiB"), _MEMORY, Reading.AMOUNT)
    return Measure(name, (row,), partial(_memory, client))


MEASURES: Final[Sequence[Measure]] = (
    _cost_measure("confluent", 5),
    _cost_measure(DEFAULT_CLIENT, 9),
    _late_measure("confluent"),
    _late_measure(DEFAULT_CLIENT),
    Measure(
        "text-serve",
        _with_rate("text-serve", "serve, confluent, raw SMS text, words, hashed, AROW", 8, _TEXTS),
        partial(_texts, "confluent"),
    ),
    _memory_measure("confluent"),
    _memory_measure(DEFAULT_CLIENT),
)
