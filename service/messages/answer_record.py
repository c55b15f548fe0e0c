"""Records of answers. In: what they say. Out: the record; its value is JSON as Pydantic writes it.

This is the interpreted form; `answer_record.pyx` is the compiled one, and means the same.
"""

from __future__ import annotations

from pydantic_core import to_json

from service.stream import Headers, Output


def answer_record(
    topic: str,
    event_id: str,
    form: tuple[bytes, bytes],
    numbers: bytes,
    updates: int | None,
    event_time_ms: int,
    headers: Headers,
) -> Output:
    """Make the record of a prediction or an outcome.

    Parameters
    ----------
    topic
        Where it goes.
    event_id
        Its key, and its first field.
    form
        What stands between the id and the numbers, and what stands behind the time of the event.
    numbers
        The score or the delay, and what follows it up to the updates or the time of the event.
    updates, event_time_ms
        Its fields of these names. An outcome has no updates.
    headers
        Of the record.

    """
    if updates is not None:
        numbers = b'%b,"updates":%d' % (numbers, updates)
    value = b'{"id":%b%b%b,"event_time_ms":%d%b' % (
        to_json(event_id),
        form[0],
        numbers,
        event_time_ms,
        form[1],
    )
    return Output(topic, event_id.encode(), value, headers)
