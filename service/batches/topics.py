"""The topics of outputs. In: outputs, in bulk or one by one. Out: the names of their topics."""

from __future__ import annotations

from collections.abc import Iterable

from service.batches.output_batch import OutputBatch
from service.records import Output


def topics_of(outputs: Iterable[Output]) -> set[str]:
    """Return the topics of outputs; an `OutputBatch` has them at hand."""
    return set(outputs.topics) if isinstance(outputs, OutputBatch) else {output.topic for output in outputs}
