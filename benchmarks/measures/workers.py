"""Two processes of `perceptron serve` against one, where the model and not the client takes the time."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from .base import Contest, Goal, Measure, Row
from .examples import events
from .stream import PEERS, Stream, shared_stream, unused

MODEL = f"{Path(__file__).with_name('heavy_model.py')}:build"
_PARTITIONS, _WORKERS = 4, 2
_EVENTS, _QUICK_EVENTS = 100_000, 12_000
_SECONDS_ALONE = 4.0


def _rates(stream: Stream, values: Sequence[bytes], workers: int) -> Sequence[float]:
    """Return the events per second of so many workers, and of as many processes with the model alone."""
    return _rate(stream, values, workers), _model_alone(workers)


def _rate(stream: Stream, values: Sequence[bytes], workers: int) -> float:
    """Let so many workers share the partitions; only then give them work, and watch."""
    topic, group = stream.create("events", _PARTITIONS), unused("serve")
    running = stream.serve(topic, group, "--workers", str(workers), model=MODEL, checkpoint_key="benchmark")
    share = [_PARTITIONS // workers] * workers
    with running, stream.progress(group, topic, _PARTITIONS) as progress:
        running.until(lambda: stream.shares(group) == share)
        stream.fill(topic, values[:_PARTITIONS], _PARTITIONS)
        running.until(lambda: progress() == _PARTITIONS)
        stream.fill(topic, values[_PARTITIONS:], _PARTITIONS)
        return stream.rate(running, progress, len(values))


def _model_alone(processes: int) -> float:
    """Let so many processes learn at the same time, without a stream; return their events per second."""
    command = [sys.executable, str(PEERS / "model_alone.py"), MODEL, str(_SECONDS_ALONE)]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(processes)]
    return sum(float(each.communicate()[0]) for each in running)


@contextlib.contextmanager
def _contest(quick: bool) -> Iterator[Contest]:  # noqa: FBT001 - what `Measure.prepare` is called with
    values = events(_QUICK_EVENTS if quick else _EVENTS)
    stream = shared_stream()
    _rate(stream, values, _WORKERS)  # the broker's JVM compiles what the transactions of several members need
    yield Contest(partial(_rates, stream, values, _WORKERS), partial(_rates, stream, values, 1))


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
                "written when every worker has its partitions, and timed from then to the last commit; one "
                "run before is not counted, as the broker's JVM compiles meanwhile.",
            ),
            Row(
                "workers-alone",
                "The same model in two processes / in one, without a stream",
                "events/s",
                None,
                f"After each run, for {_SECONDS_ALONE:.0f} s: what the cores of this machine give it.",
            ),
        ),
        _contest,
    ),
)
