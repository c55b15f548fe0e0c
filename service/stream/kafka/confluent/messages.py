"""Convert messages of a librdkafka consumer into `Record`s, and `Output`s into messages.

As this is done for every message, `messages.pxd` gives this module C types.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable
from operator import methodcaller
from sys import intern
from typing import Any, Final

from confluent_kafka import KafkaError, Message

from service.stream.batches import OutputBatch, RecordBatch
from service.stream.protocol import Headers, Output, Record, TopicPartition

PARTITION_EOF: Final[int] = KafkaError._PARTITION_EOF  # noqa: SLF001 - the name it is published under
OUT_OF_RANGE: Final = frozenset({KafkaError._AUTO_OFFSET_RESET, KafkaError._LOG_TRUNCATION})  # noqa: SLF001
"""Errors of a position out of range: the broker does not have it, or a new leader's log differs."""
# Placeholders of librdkafka for no partition and no time; it cannot express the first millisecond of 1970.
_BY_KEY: Final = -1
_NO_KEY: Final = 0
_NOW: Final = 0
_FIRST_TIME_MS: Final = 1
_log = logging.getLogger(__name__)
# Looked up once: finding a method takes half the time of its call, and each record needs eight calls.
_error_of: Final = Message.error
_topic_of: Final = Message.topic
_partition_of: Final = Message.partition
_offset_of: Final = Message.offset
_time_of: Final = Message.timestamp
_key_of: Final = Message.key
_value_of: Final = Message.value
_headers_of: Final = methodcaller("headers")


def consume(client: Any, max_messages: int, wait_seconds: float) -> list[Message]:  # noqa: ANN401 - any consumer
    """Return the available messages; wait only for the first one.

    The client's `consume` waits until it has `max_messages`, or its time is up.
    """
    messages: list[Message] = client.consume(max_messages, 0)
    if not messages and wait_seconds > 0:
        messages = client.consume(1, wait_seconds)
        if messages and max_messages > 1:
            messages += client.consume(max_messages - 1, 0)
    return messages


def keep(
    messages: Iterable[Message],
    taken: dict[TopicPartition, RecordBatch],
    begun: Collection[int],
    note: Callable[[KafkaError, Message], None],
) -> None:
    """Add each message of a started partition to its batch; call `note` for those with an error."""
    records: RecordBatch | None = None
    topic_partition, topic, partition = ("", -1), "", -1
    for message in messages:
        error = _error_of(message)
        if error is not None:
            note(error, message)
            continue
        if _partition_of(message) != partition or _topic_of(message) != topic:
            topic_partition = topic, partition = intern(_topic_of(message)), _partition_of(message)
            records = taken.setdefault(topic_partition, RecordBatch()) if partition in begun else None
        if records is not None:
            offset, (_, timestamp_ms) = _offset_of(message), _time_of(message)
            key, value = _key_of(message), _value_of(message)
            records.add(topic_partition, offset, timestamp_ms, key, value, _headers(message))


def as_record(message: Message) -> Record:
    """Return a message that is not an error as a `Record`."""
    position, timestamp_ms = (message.topic(), message.partition(), message.offset()), message.timestamp()[1]
    return Record(*position, timestamp_ms, message.key(), message.value(), _headers(message))


def _headers(message: Message) -> Headers:
    """Return the headers; none if a name is not UTF-8.

    confluent-kafka cannot decode such a name, sets the error, and still returns an object, which must not be
    used. The interpreter detects that after a call like this one, but not after a specialized method call.
    Records of other clients must not stop the stream.
    """
    try:
        headers = _headers_of(message)
    except (SystemError, UnicodeError):
        location = f"{message.topic()}[{message.partition()}]@{message.offset()}"
        _log.warning("%s: its headers are ignored: a header name is not UTF-8", location)
        return ()
    if not headers:
        return ()
    return tuple([(name, value or b"") for name, value in headers])


def produce_each(produce: Callable[..., None], outputs: Iterable[Output]) -> None:
    """Call a producer's `produce` for each output."""
    batch = outputs if isinstance(outputs, OutputBatch) else OutputBatch(outputs)
    for k in range(len(batch)):
        topic, key, value, headers, partition, timestamp_ms = batch.fields(k)
        if key is not None and partition is None and timestamp_ms is None and not headers:
            produce(topic, value, key)  # other arguments take a tenth longer; most outputs have none
            continue
        produce(
            topic,
            value,
            key,
            (_NO_KEY if key is None else _BY_KEY) if partition is None else partition,
            None,
            None,
            _NOW if timestamp_ms is None else timestamp_ms or _FIRST_TIME_MS,
            list(headers) if headers else None,
        )
