"""Compare the counts after recovery with those committed; refuse a difference."""

from __future__ import annotations

from typing import Final

from perceptron_core.elementary import ARITHMETIC
from service.checkpoints.log import Progress
from service.checkpoints.snapshot import Snapshot
from service.errors import CheckpointError, NewerRelease
from service.partition.processor import Processor

_SEED_IT: Final = "a custom model must be deterministic: seed it"


def progress_counts(processor: Processor) -> dict[str, int]:
    """Count what a model has done: committed with each batch, shown by `status`, checked by recovery."""
    return {name: count for part in processor.parts() for name, count in part.counts().items()}


def computes_alike(snapshot: Snapshot) -> bool:
    """Return whether replay gives the same last places: the snapshot was written with this arithmetic."""
    return bool(snapshot.state["arithmetic"] == ARITHMETIC)


def check_arithmetic(snapshot: Snapshot, place: str) -> None:
    """Refuse to replay batches that were learned with another arithmetic. Raises `CheckpointError`."""
    if not computes_alike(snapshot):
        raise CheckpointError(
            f"{place}: batches were committed by a release with another arithmetic, and replaying them could "
            "give another model",
            hint="run `serve --exit-at-end` of that release once, which leaves a snapshot",
        )


def check_counts(processor: Processor, last: Progress, partition: int) -> None:
    """Check that the counts are those committed."""
    counts, committed = progress_counts(processor), dict(last.counts)
    if unknown := ", ".join(sorted(committed.keys() - counts.keys())):
        what = f"partition {partition}: progress with counts that this release does not know: {unknown!r:.50}"
        raise NewerRelease.wrote(what)
    found = {name: counts[name] for name in committed}  # a release before may lack a part
    if found != committed:
        raise CheckpointError(
            f"partition {partition}: learning again gave {found}, but {committed} was committed: "
            "the model does not learn the same twice from the same data",
            hint=_SEED_IT,
        )
