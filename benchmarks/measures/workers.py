"""Two processes of `perceptron serve` against one, where the model and not the client takes the time."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from .base import Contest, Goal, Measure, Row
from .examples import events
from .stream import Stream, shared_stream, unused

MODEL = f"{Path(__file__).with_name('heavy_model.py')}:build"
_PARTITIONS = 4
_EVENTS, _QUICK_EVENTS = 100_000, 12_000


def _rate(stream: Stream, values: Sequence[bytes], workers: int) -> Sequence[float]:
    """Let so many workers share the partitions; only then give them work, and watch."""
    topic, group = stream.create("events", _PARTITIONS), unused("serve")
    running = stream.serve(topic, group, "--workers", str(workers), model=MODEL, checkpoint_key="benchmark")
    share = [_PARTITIONS // workers] * workers
    with running, stream.progress(group, topic, _PARTITIONS) as progress:
        running.until(lambda: stream.shares(group) == share)
        stream.fill(topic, values[:_PARTITIONS], _PARTITIONS)
        running.until(lambda: progress() == _PARTITIONS)
        stream.fill(topic, values[_PARTITIONS:], _PARTITIONS)
        return (stream.rate(running, progress, len(values)),)


@contextlib.contextmanager
def _contest(quick: bool) -> Iterator[Contest]:  # noqa: FBT001 - what `Measure.prepare` is called with
    values = events(_QUICK_EVENTS if quick else _EVENTS)
    stream = shared_stream()
    yield Contest(partial(_rate, stream, values, 2), partial(_rate, stream, values, 1))


MEASURES = (
    Measure(
        "workers",
        (
            Row(
                "workers",
                "serve --workers 2 / --workers 1, CPU-bound model",
                "events/s",
                Goal(1.8),
                f"{_PARTITIONS} partitions, a River ensemble as the model, default client; the events are "
                "written when every worker has its partitions, and timed from then to the last commit.",
            ),
        ),
        _contest,
    ),
)
