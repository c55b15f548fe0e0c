"""Records of predictions and outcomes, whose values are JSON as Pydantic writes it.

This is the interpreted form; `answer_record.pyx` is the compiled one, and means the same.
"""

from __future__ import annotations

from pydantic_core import to_json

from service.stream.batches import OutputBatch
from service.stream.protocol import Headers, Output


def write_answer(
    outputs: OutputBatch,
    topic: str,
    event_id: str,
    form: tuple[bytes, bytes],
    number: float,
    probability: float | None,
    updates: int,
    event_time_ms: int,
    headers: Headers,
) -> None:
    """Write the record of a prediction or an outcome.

    Parameters
    ----------
    outputs
        What it is added to.
    topic
        Where it goes.
    event_id
        Its key, and its first field.
    form
        What stands between the id and the number, and what stands behind the time of the event.
    number
        The score or the delay.
    probability
        Its field of this name; None: there is none.
    updates
        Its field of this name; -1: there is none, as in an outcome.
    event_time_ms
        Its field of this name.
    headers
        Of the record.

    """
    numbers = to_json(number)
    if probability is not None:
        numbers += b',"probability":' + to_json(probability)
    if updates >= 0:
        numbers += b',"updates":%d' % updates
    value = b'{"id":%b%b%b,"event_time_ms":%d%b' % (
        to_json(event_id),
        form[0],
        numbers,
        event_time_ms,
        form[1],
    )
    outputs.append(Output(topic, event_id.encode(), value, headers))
