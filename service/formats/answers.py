"""Predictions and outcomes with a registered schema. In: their JSON. Out: the wire format; and back.

In Avro both are records of one schema, in which all is nullable that only one of them has. JSON with a schema
is the same JSON behind the schema's id.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Sequence
from typing import Any, Final, Literal

from service.formats.avro import avro_reader
from service.formats.schema import Schema, SchemaKind
from service.formats.wire import ID_END
from service.messages.schema import json_schema
from service.stream import Output

AnswerFormat = Literal["json", "avro", "json-schema"]
"""How predictions and outcomes are written."""

ANSWER_KEY: Final = b"answers"
"""Key of their schema among those that are kept."""

_LABEL: Final = ["boolean", "long", "double", "string"]
_FIELDS: Final[dict[str, list[str]]] = {
    "truth": ["null", *_LABEL],
    "predicted": ["null", *_LABEL],
    "mistake": ["null", "boolean"],
    "score": ["null", "double"],
    "probability": ["null", "double"],
    "updates": ["null", "long"],
    "label_delay_seconds": ["null", "double"],
    "event_time_ms": ["null", "long"],
}
_AVRO: Final = {
    "type": "record",
    "name": "Answer",
    "namespace": "online_perceptron",
    "doc": "A prediction, which has a score; or an outcome, which has the label that had been predicted.",
    "fields": [
        {"name": "id", "type": "string"},
        {"name": "label", "type": _LABEL},
        *({"name": name, "type": kind, "default": None} for name, kind in _FIELDS.items()),
    ],
}
_ORDERS: Final = (
    ("id", "label", "score", "probability", "updates", "event_time_ms", "truth", "mistake"),
    ("id", "label", "predicted", "mistake", "label_delay_seconds", "event_time_ms"),
)
"""Of the fields of a prediction and of an outcome, as JSON has them."""


def schema_of(answer_format: AnswerFormat) -> Schema:
    """Return the schema of predictions and outcomes; not of those in plain JSON."""
    if answer_format == "avro":
        return Schema(SchemaKind.AVRO, (json.dumps(_AVRO).encode(),))
    both = [json_schema(kind) for kind in ("prediction", "outcome")]
    return Schema(SchemaKind.JSON, (json.dumps({"title": "Answer", "oneOf": both}).encode(),))


class AnswerWriter:
    """Writes predictions and outcomes with their schema.

    Parameters
    ----------
    answer_format
        Not plain JSON.
    topic
        Where they go.

    """

    def __init__(self, answer_format: AnswerFormat, topic: str) -> None:
        self._topic = topic
        self._encode: Callable[[bytes], bytes] = _avro_encoder() if answer_format == "avro" else bytes

    def write(self, outputs: Sequence[Output], schema: Schema) -> list[Output]:
        """Return outputs with the answers among them in the format; the schema's last part is its id."""
        topic, encode, prefix = self._topic, self._encode, schema.parts[-1]
        return [
            output._replace(value=prefix + encode(output.value or b"")) if output.topic == topic else output
            for output in outputs
        ]


def _avro_encoder() -> Callable[[bytes], bytes]:
    from fastavro import parse_schema, schemaless_writer  # noqa: PLC0415 - an extra

    schema = parse_schema(_AVRO)

    def encode(value: bytes) -> bytes:
        data = io.BytesIO()
        schemaless_writer(data, schema, json.loads(value))
        return data.getvalue()

    return encode


def answer_reader(answer_format: AnswerFormat) -> Callable[[bytes | None], bytes | None]:
    """Return what turns the value of a prediction or outcome into JSON; what is none stays as it is."""
    if answer_format == "json":
        return lambda value: value
    if answer_format == "json-schema":
        return lambda value: value[ID_END:] if value and value[0] == 0 else value
    read = avro_reader(schema_of("avro").parts)

    def plain(value: bytes | None) -> bytes | None:
        try:
            return _as_json(read(value, ID_END)) if value and value[0] == 0 else value
        except (RecursionError, ValueError):
            return value

    return plain


def _as_json(answer: dict[str, Any]) -> bytes:
    order = _ORDERS[answer["predicted"] is not None]
    fields = {name: answer[name] for name in order if answer[name] is not None}
    return json.dumps(fields, separators=(",", ":"), ensure_ascii=False).encode(errors="surrogatepass")
