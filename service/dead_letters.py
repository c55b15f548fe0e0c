"""Dead letters. In: a record and why it was refused. Out: the same bytes; reason and origin as headers."""

from __future__ import annotations

from service.decode import Rejection
from service.transport.base import Output, Record


def dead_letter(record: Record, rejection: Rejection, topic: str) -> Output:
    """Make the dead letter of a refused record: key, value and the producer's own headers unchanged."""
    headers = (
        *record.headers,
        ("error.reason", rejection.reason.encode()),
        ("error.message", rejection.message.encode(errors="replace")),
        ("source.topic", record.topic.encode()),
        ("source.partition", str(record.partition).encode()),
        ("source.offset", str(record.offset).encode()),
    )
    return Output(topic, record.key, record.value, headers, None, record.timestamp_ms)
