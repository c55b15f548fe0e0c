"""Outputs in bulk have what an output has."""

from __future__ import annotations

import pytest

from service.batches.output_batch import OutputBatch
from service.stream import Output


@pytest.mark.parametrize("partition", [None, 0, 2**31 - 1])
@pytest.mark.parametrize("timestamp_ms", [None, 0, -1, 2**62])
def test_an_output_without_a_partition_or_a_time_stays_one(
    partition: int | None, timestamp_ms: int | None
) -> None:
    output = Output("t", b"", None, (), partition, timestamp_ms)
    (found,) = OutputBatch([output])
    assert found == output
    assert isinstance(found, Output)
