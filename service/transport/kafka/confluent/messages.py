"""Turn the messages of a librdkafka consumer into `Record`s."""

from __future__ import annotations

import logging
from operator import methodcaller
from typing import Any, Final

from confluent_kafka import KafkaError, Message

from service.stream import Headers, Record

PARTITION_EOF: Final[int] = KafkaError._PARTITION_EOF  # noqa: SLF001 - the name it is published under
OUT_OF_RANGE: Final = frozenset({KafkaError._AUTO_OFFSET_RESET, KafkaError._LOG_TRUNCATION})  # noqa: SLF001
"""A position without records: the broker never has it, or another leader has others."""
ErrorFields = tuple[int, str, str | None, int, int]
"""An error among messages: its code and text; topic, partition, and offset."""
_log = logging.getLogger(__name__)
# Half the time of a field-by-field namedtuple constructor, once for every record there is.
_new = tuple.__new__
_headers_of: Final = methodcaller("headers")


def consume(client: Any, max_messages: int, wait_seconds: float) -> list[Message]:  # noqa: ANN401 - any consumer
    """Return the messages that are there; wait for the first one only.

    `consume` by itself waits until it has `max_messages`, or its time is up.
    """
    found: list[Message] = client.consume(max_messages, 0)
    if not found and wait_seconds > 0:
        found = client.consume(1, wait_seconds)
        if found and max_messages > 1:
            found += client.consume(max_messages - 1, 0)
    return found


def as_record(message: Message) -> Record:
    """Return a message that is no error as a `Record`."""
    headers = _headers(message)
    fields = (
        message.topic(),
        message.partition(),
        message.offset(),
        message.timestamp()[1],
        message.key(),
        message.value(),
        headers,
    )
    return _new(Record, fields)


def _headers(message: Message) -> Headers:
    """Return the headers; none where the name of one is not UTF-8.

    confluent-kafka cannot decode such a name. It returns something nevertheless, which must not be touched,
    with the error beside it. The interpreter looks for such errors of a call like this one, but not where it
    has specialized a method call. No other client's records may stop the stream.
    """
    try:
        found = _headers_of(message)
    except (SystemError, UnicodeError):
        warn_of_lost_headers(message.topic(), message.partition(), message.offset())
        return ()
    if not found:
        return ()
    return tuple((name, value or b"") for name, value in found)


def warn_of_lost_headers(topic: object, partition: object, offset: object) -> None:
    """Log that a record is read without its headers."""
    place = f"{topic}[{partition}]@{offset}"
    _log.warning("%s: read without its headers: the name of one is not UTF-8", place)
