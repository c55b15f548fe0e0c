"""`perceptron serve` on a real broker, exactly once, against loops that do as much or just move bytes."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from . import backlogs, peer_environments
from .base import Contest, Goal, Measure, Row
from .librdkafka import bare_loop
from .peer_choice import best_batch, twice
from .stream import (
    COMMIT_INTERVAL_SECONDS,
    DEFAULT_CLIENT,
    PEER_BATCHES,
    PEERS,
    Running,
    Stream,
    shared_stream,
    unused,
)

PREDICTION = (
    b'{"id":"event-123456","label":true,"score":-1.2345,"updates":12345,"truth":true,"mistake":false}'
)
"""Of the length that a prediction has on average: what the bare loops answer with."""

_EVENTS, _QUICK_EVENTS = 2_000_000, 400_000
"""Seconds of work for the fastest; a run of one second differed by half from the next."""
_SLOW_SHARE = 0.05
"""Of the events, for peers in Python."""

_Peer = Callable[[Path], Sequence[str]]
"""A function that returns the command of a peer; what it has to compile goes into the folder."""


class _Work:
    """A topic full of events, and contestants that work through it."""

    def __init__(self, stream: Stream, client: str, topic: str, count: int) -> None:
        self._stream, self._client, self._topic, self._count = stream, client, topic, count
        self._peer_batch: int | None = None

    def serve(self) -> Sequence[float]:
        """Let `perceptron serve` do all of it."""
        group = unused("serve")
        running = self._stream.serve(
            self._topic,
            group,
            *([] if self._client == DEFAULT_CLIENT else ["--kafka-client", self._client]),
            commit_interval_seconds=COMMIT_INTERVAL_SECONDS,
        )
        return (self._rate(running, group, self._count),)

    def peer(
        self, name: str, command: Sequence[str], share: float, arguments: Sequence[object]
    ) -> Sequence[float]:
        """Let a peer do a share of it, as slow ones need not do all, with the batches that suit it best."""
        run = partial(self._peer, command, share, arguments)
        if self._peer_batch is None:
            self._peer_batch = best_batch(run, PEER_BATCHES, name)
        return (twice(partial(run, self._peer_batch), name),)

    def _peer(self, command: Sequence[str], share: float, arguments: Sequence[object], batch: int) -> float:
        group, output = unused("peer"), self._stream.create("answers")
        running = self._stream.peer(command, self._topic, output, group, batch, *arguments)
        return self._rate(running, group, int(self._count * share))

    def _rate(self, running: Running, group: str, count: int) -> float:
        with running, self._stream.progress(group, self._topic) as progress:
            return self._stream.rate(running, progress, count)


def _in_python(program: str, python: Callable[[], Path]) -> _Peer:
    return lambda folder: (str(python()), str(PEERS / program))  # noqa: ARG005 - nothing is compiled


@contextlib.contextmanager
def _contest(
    name: str,
    client: str,
    peer: _Peer,
    share: float,
    arguments: Sequence[object],
    quick: bool,  # noqa: FBT001 - what `Measure.prepare` is called with
) -> Iterator[Contest]:
    stream, count = shared_stream(), _QUICK_EVENTS if quick else _EVENTS
    command = peer(stream.folder)
    work = _Work(stream, client, backlogs.inline_labels(count), count)
    yield Contest(work.serve, partial(work.peer, name, command, share, arguments))


def _measure(
    name: str,
    title: str,
    goal: float,
    how: str,
    client: str,
    peer: _Peer,
    *,
    share: float = 1.0,
    arguments: Sequence[object] = (),
) -> Measure:
    row = Row(name, title, "events/s", Goal(goal), how)
    return Measure(name, (row,), partial(_contest, f"the peer of {name}", client, peer, share, arguments))


_BATCHES = ", ".join(f"{each:,}" for each in PEER_BATCHES)
_BARE = (
    "A topic of JSON events of 12 features, labels included; ours at its defaults, the peer with "
    f"transactions of at most {_BATCHES} messages, whichever is fastest; timed from the first commit to the "
    "last. The bare loop decodes nothing and answers with as many bytes as a "
    "prediction has."
)
_SAME_WORK = (
    "The same topic and choice of transactions, timed likewise; the peer validates with Pydantic, predicts, "
    "learns, answers and keeps its model, all of it in the transaction"
)

MEASURES = (
    _measure(
        "serve-kafka-python",
        "serve, kafka-python / bare transaction loop in Python",
        0.85,
        _BARE,
        DEFAULT_CLIENT,
        _in_python("bare_kafka_python.py", peer_environments.own),
        share=_SLOW_SHARE,
        arguments=(len(PREDICTION),),
    ),
    _measure(
        "serve-confluent",
        "serve, confluent / bare transaction loop in C on librdkafka",
        0.5,
        f"{_BARE} It is compiled where it is measured, on the librdkafka that confluent-kafka brings along.",
        "confluent",
        bare_loop,
        arguments=(len(PREDICTION),),
    ),
    _measure(
        "serve-quix",
        "serve, confluent / Quix Streams + River, exactly once",
        6,
        f"{_SAME_WORK}; its commits are as frequent as ours, and its model lies in its state store.",
        "confluent",
        _in_python("quix_river.py", peer_environments.quix),
        share=_SLOW_SHARE,
        arguments=(COMMIT_INTERVAL_SECONDS,),
    ),
    _measure(
        "serve-river-loop",
        "serve, confluent / kafka-python + River by hand",
        6,
        f"{_SAME_WORK}.",
        "confluent",
        _in_python("river_kafka_python.py", peer_environments.own),
        share=_SLOW_SHARE,
    ),
)
