"""Dead letters. In: a record and why it was refused. Out: the same bytes; reason and origin as headers."""

from __future__ import annotations

from typing import Final

from service.decode import Rejection
from service.transport.base import Output, Record

REASON: Final = "error.reason"
MESSAGE: Final = "error.message"
SOURCE: Final = ("source.topic", "source.partition", "source.offset")
HEADERS: Final = (REASON, MESSAGE, *SOURCE)
"""Names of the headers that a dead letter has beyond the producer's own."""


def dead_letter(record: Record, rejection: Rejection, topic: str) -> Output:
    """Make the dead letter of a refused record: key, value and the producer's own headers unchanged."""
    told = (rejection.reason, rejection.message, record.topic, record.partition, record.offset)
    ours = ((name, str(value).encode(errors="replace")) for name, value in zip(HEADERS, told, strict=True))
    return Output(topic, record.key, record.value, (*record.headers, *ours), None, record.timestamp_ms)
