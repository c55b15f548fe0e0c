"""Which topics outputs go to. In: outputs, in bulk or one by one. Out: the names."""

from __future__ import annotations

from collections.abc import Iterable

from service.batches.output_batch import OutputBatch
from service.records import Output


def topics_of(outputs: Iterable[Output]) -> set[str]:
    """Return the topics that outputs go to; of a batch as it knows them, without a look at each output."""
    return set(outputs.topics) if isinstance(outputs, OutputBatch) else {output.topic for output in outputs}
