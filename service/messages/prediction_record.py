"""Records of predictions. In: what was predicted. Out: the record; its value is JSON as Pydantic writes it.

This is the interpreted form; `prediction_record.pyx` is the compiled one, and means the same.
"""

from __future__ import annotations

from pydantic_core import to_json

from service.stream import Headers, Output


def prediction_record(
    topic: str,
    event_id: str,
    form: tuple[bytes, bytes],
    numbers: bytes,
    updates: int,
    event_time_ms: int,
    headers: Headers,
) -> Output:
    """Make the record of a prediction.

    Parameters
    ----------
    topic
        Where it goes.
    event_id
        Its key, and its first field.
    form
        What stands between the id and the score, and what stands behind the time of the event.
    numbers
        The score, and what follows it up to the updates.
    updates, event_time_ms
        Its fields of these names.
    headers
        Of the record.

    """
    fields = (to_json(event_id), form[0], numbers, updates, event_time_ms, form[1])
    value = b'{"id":%b%b%b,"updates":%d,"event_time_ms":%d%b' % fields
    return Output(topic, event_id.encode(), value, headers)
