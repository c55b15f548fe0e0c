"""`perceptron serve` on a real broker, exactly once, against loops that do as much or just move bytes."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from . import peer_environments
from .base import Contest, Goal, Measure, Row
from .examples import events
from .stream import COMMIT_INTERVAL_SECONDS, PEER_BATCHES, Running, Stream, shared_stream, unused

PREDICTION = (
    b'{"id":"event-123456","label":true,"score":-1.2345,"updates":12345,"truth":true,"mistake":false}'
)
"""Of the length that a prediction has on average: what the bare loops answer with."""

DEFAULT_CLIENT = "kafka-python"
_FULL, _QUICK = 1.0, 0.2


class _Work:
    """A topic full of events, and contestants that work through it."""

    def __init__(self, stream: Stream, client: str, count: int) -> None:
        self._stream, self._client, self._count = stream, client, count
        self._topic = stream.create("events")
        stream.fill(self._topic, events(count))
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

    def peer(self, program: str, share: float, arguments: Sequence[object], python: Path) -> Sequence[float]:
        """Let a peer do a share of it, as slow ones need not do all, with the batches that suit it best."""
        run = partial(self._peer, program, share, arguments, python)
        if self._peer_batch is None:
            rates = {batch: run(batch) for batch in PEER_BATCHES}
            self._peer_batch = max(rates, key=rates.__getitem__)
        return (run(self._peer_batch),)

    def _peer(
        self, program: str, share: float, arguments: Sequence[object], python: Path, batch: int
    ) -> float:
        group, output = unused("peer"), self._stream.create("answers")
        running = self._stream.peer(program, self._topic, output, group, batch, *arguments, python=python)
        return self._rate(running, group, int(self._count * share))

    def _rate(self, running: Running, group: str, count: int) -> float:
        with running, self._stream.progress(group, self._topic) as progress:
            return self._stream.rate(running, progress, count)


@contextlib.contextmanager
def _contest(
    client: str,
    count: int,
    program: str,
    share: float,
    arguments: Sequence[object],
    python: Callable[[], Path],
    quick: bool,  # noqa: FBT001 - what `Measure.prepare` is called with
) -> Iterator[Contest]:
    interpreter = python()
    work = _Work(shared_stream(), client, int(count * (_QUICK if quick else _FULL)))
    yield Contest(work.serve, partial(work.peer, program, share, arguments, interpreter))


def _measure(
    name: str,
    title: str,
    goal: float,
    how: str,
    client: str,
    count: int,
    program: str,
    *,
    share: float = 1.0,
    arguments: Sequence[object] = (),
    python: Callable[[], Path] = peer_environments.own,
) -> Measure:
    row = Row(name, title, "events/s", Goal(goal), how)
    return Measure(name, (row,), partial(_contest, client, count, program, share, arguments, python))


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
        "serve, kafka-python / bare transaction loop",
        0.85,
        _BARE,
        DEFAULT_CLIENT,
        60_000,
        "bare_kafka_python.py",
        arguments=(len(PREDICTION),),
    ),
    _measure(
        "serve-confluent",
        "serve, confluent / bare transaction loop",
        0.45,
        _BARE,
        "confluent",
        200_000,
        "bare_confluent.py",
        arguments=(len(PREDICTION),),
    ),
    _measure(
        "serve-quix",
        "serve, confluent / Quix Streams + River, exactly once",
        5,
        f"{_SAME_WORK}; its commits are as frequent as ours, and its model lies in its state store.",
        "confluent",
        200_000,
        "quix_river.py",
        share=0.2,
        arguments=(COMMIT_INTERVAL_SECONDS,),
        python=peer_environments.quix,
    ),
    _measure(
        "serve-river-loop",
        "serve, confluent / kafka-python + River by hand",
        5,
        f"{_SAME_WORK}.",
        "confluent",
        200_000,
        "river_kafka_python.py",
        share=0.15,
    ),
)
