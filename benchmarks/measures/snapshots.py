"""A snapshot of a million weights: how long it takes to come back, and how many bytes a weight takes."""

from __future__ import annotations

import contextlib
import gc
import tempfile
from collections.abc import Iterator, Sequence
from statistics import fmean
from time import perf_counter

from service.checkpoints.identity import identity
from service.checkpoints.log import Address, snapshot_records
from service.checkpoints.snapshot import Snapshot
from service.loop.recovery import restore
from service.partition.factory import make_processor
from service.settings.load import Settings
from service.stream import Output, Transport
from service.transport import open_transport

from .base import Contest, Goal, Measure, Reading, Row

_WEIGHTS = 1_000_000
"""Also when told to be quick: the goal is about this size, and time does not grow in proportion."""


def _snapshot(settings: Settings, names: Sequence[str]) -> Sequence[Output]:
    """Make the records of a snapshot with a different weight for every name."""
    processor = make_processor(settings)
    processor.learner.learn({name: n + 0.5 for n, name in enumerate(names)}, True)  # noqa: FBT003 - a label
    snapshot = Snapshot(1, {settings.events_topic: 0}, identity(settings), processor.state())
    return snapshot_records(snapshot, Address(settings.checkpoints_topic, 0, settings.group))


def _seconds(transport: Transport, settings: Settings, count: int) -> float:
    gc.collect()
    began = perf_counter()
    restored = restore(transport, settings, 0)
    seconds = perf_counter() - began
    found = restored.processor.learner.weights()
    if found is None or len(found[0]) != count:
        raise RuntimeError(f"restored something else than {count} weights")
    return seconds


@contextlib.contextmanager
def _contest(quick: bool) -> Iterator[Contest]:  # noqa: ARG001, FBT001 - what `Measure.prepare` is called with
    settings = Settings(labels_topic="")
    names = [f"text=word{n}" for n in range(_WEIGHTS)]
    with (
        tempfile.TemporaryDirectory() as folder,
        contextlib.closing(open_transport(f"sqlite:///{folder}/stream.db")) as transport,
    ):
        transport.ensure_topics({settings.events_topic: 1, settings.checkpoints_topic: 1})
        records = _snapshot(settings, names)
        transport.produce(records)
        size = sum(len(record.value or b"") for record in records) / len(names)
        beyond_name = size - fmean(map(len, names))
        yield Contest(lambda: (_seconds(transport, settings, len(names)), beyond_name))


MEASURES = (
    Measure(
        "snapshot",
        (
            Row(
                "restore",
                "Restoring 1,000,000 weights",
                "s",
                Goal(1, "s", at_least=False),
                "Reading the newest snapshot from a SQLite file and making the model of it, in one process.",
                Reading.AMOUNT,
            ),
            Row(
                "snapshot-bytes",
                "Bytes per weight in a snapshot, beyond the name's own",
                "bytes",
                Goal(16, "bytes", at_least=False),
                "Size of that snapshot's records over its weights, less the mean length of the names.",
                Reading.AMOUNT,
            ),
        ),
        _contest,
    ),
)
