"""Compare the counts after recovery with those committed; refuse a difference."""

from __future__ import annotations

import logging
from typing import Final

from perceptron_core.elementary import ARITHMETIC
from service.checkpoints.log import Progress
from service.checkpoints.snapshot import Snapshot
from service.errors import CheckpointError, NewerRelease
from service.partition.processor import Processor

_log = logging.getLogger(__name__)

_SEED_IT: Final = "a custom model must be deterministic: seed it"
_OF_DECISIONS: Final = ("mistakes", "updates")
"""Counts that depend on the last places of scores."""


def progress_counts(processor: Processor) -> dict[str, int]:
    """Count what a model has done: committed with each batch, shown by `status`, checked by recovery."""
    return {name: count for part in processor.parts() for name, count in part.counts().items()}


def computes_alike(snapshot: Snapshot) -> bool:
    """Return whether learning again gives the same last places: it was written with this arithmetic."""
    return bool(snapshot.state.get("arithmetic") == ARITHMETIC)


def check_counts(processor: Processor, last: Progress, partition: int, *, is_alike: bool) -> None:
    """Check that the counts are those committed; other last places may have tipped a decision."""
    counts, committed = progress_counts(processor), dict(last.counts)
    if unknown := ", ".join(sorted(committed.keys() - counts.keys())):
        what = f"partition {partition}: progress with counts that this release does not know: {unknown!r:.50}"
        raise NewerRelease.wrote(what)
    found = {name: counts[name] for name in committed}  # an older release did not have all parts
    if found == committed:
        return
    if not is_alike and found | {name: committed.get(name) for name in _OF_DECISIONS} == committed:
        _log.warning(
            "partition %d: learning again gave %s, but %s was committed by a release that rounds in another "
            "way: going on with the model as learned now, and with the committed counts",
            partition,
            found,
            committed,
        )
        processor.counters.go_on_from(committed)
        return
    raise CheckpointError(
        f"partition {partition}: learning again gave {found}, but {committed} was committed: "
        "the model does not learn the same twice from the same data",
        hint=_SEED_IT,
    )
