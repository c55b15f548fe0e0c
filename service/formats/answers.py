"""Write predictions and outcomes with a registered schema, and read them again as JSON.

In Avro both are records of one schema, in which all is nullable that only one of them has. JSON with a schema
is the same JSON behind the schema's id.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from itertools import groupby
from typing import Any, Final, Literal

from service.formats.avro import avro_reader
from service.formats.schema import ID_END, Schema, SchemaKind
from service.messages.schema import OUTCOME, PREDICTION, AnswerField, answer_fields, json_schema
from service.stream.protocol import Output

AnswerFormat = Literal["json", "avro", "json-schema"]
"""How predictions and outcomes are written."""

ANSWER_KEY: Final = b"answers"
"""Key of their schema among those that are kept."""

_AVRO_TYPES: Final = {bool: "boolean", int: "long", float: "double", str: "string"}
_AT_FIRST: Final = 12
"""Fields in Avro of 0.2.0, the first release."""


def _in_avro(kinds: Iterable[AnswerField]) -> dict[str, Any]:
    """Return a field in Avro as predictions, outcomes or both have it: nullable unless both always do."""
    (name, types, always, _), *others = kinds
    union: Any = [_AVRO_TYPES[each] for each in types]
    if others and always and all(each.is_required for each in others):
        return {"name": name, "type": union if len(union) > 1 else union[0]}
    return {"name": name, "type": ["null", *union], "default": None}


def _number(field: AnswerField) -> int:
    return field.written.number


_AVRO: Final = {
    "type": "record",
    "name": "Answer",
    "namespace": "online_perceptron",
    "doc": "A prediction, which has a score; or an outcome, which has the label that had been predicted.",
    "fields": [_in_avro(kinds) for _, kinds in groupby(sorted(PREDICTION + OUTCOME, key=_number), _number)],
}


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
    """Return a function that turns predictions and outcomes into JSON; other values stay unchanged."""
    if answer_format == "json":
        return lambda value: value
    if answer_format == "json-schema":
        return lambda value: value[ID_END:] if value and value[0] == 0 else value
    read = avro_reader(schema_of("avro").parts)

    def plain(value: bytes | None) -> bytes | None:
        if not value or value[0] != 0:
            return value
        # A value of an earlier release ends before the fields added since: a zero byte is a null.
        for n_nulls in range(1 + len(_AVRO["fields"]) - _AT_FIRST):
            with suppress(RecursionError, ValueError):
                return _as_json(read(value + bytes(n_nulls), ID_END))
        return value

    return plain


def _as_json(answer: dict[str, Any]) -> bytes:
    said = {name: value for name, value in answer.items() if value is not None}
    fields = {field.name: said[field.name] for field in answer_fields(said) if field.name in said}
    return json.dumps(fields, separators=(",", ":"), ensure_ascii=False).encode(errors="surrogatepass")
