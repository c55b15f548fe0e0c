"""Make readers of Avro values, which become dictionaries, lists and scalars.

decimal                          number, the nearest double
date                             text, 2026-11-23
timestamp-…, local-timestamp-…   milliseconds since 1970
time-…                           milliseconds since midnight
uuid, enum                       text
bytes, fixed, duration           None: a missing value
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from service.formats.avro_decoder import AvroDecoder, Plan
from service.formats.plain_values import TooManyValues, is_utf8
from service.formats.protobuf import UnusableSchema
from service.settings.code import need

_PRIMITIVES: Final = {
    "int": "long",
    **{kind: kind for kind in ("null", "boolean", "long", "float", "double", "string", "bytes")},
}
"""Primitive types, and what they are read as."""
_PER_MILLISECOND: Final = {
    f"{kind}-{unit}": divisor
    for kind in ("timestamp", "local-timestamp", "time")
    for unit, divisor in (("millis", 1), ("micros", 1000), ("nanos", 1_000_000))
}
_UUID_BYTES: Final = 16
_MOST_SCALE: Final = 1 << 31
_LONGEST_SYMBOL: Final = 256
"""Characters: a byte of a record names a symbol, and an array of such bytes may become one text."""


def avro_reader(parts: Sequence[bytes]) -> Callable[[bytes, int], Any]:
    """Make a reader of the values of a schema: it takes the bytes, and where the value begins.

    Parameters
    ----------
    parts
        Texts of the schemas that the schema refers to, then the schema itself.

    Raises
    ------
    UnusableSchema
        The text is not an Avro schema, or its values cannot be bounded.

    """
    need("fastavro", "an Avro schema")
    from fastavro.schema import SchemaParseException, UnknownType, parse_schema  # noqa: PLC0415 - an extra

    named: dict[str, Any] = {}
    try:
        parsed = [parse_schema(json.loads(part), named_schemas=named) for part in parts]
        return _tried(AvroDecoder(_Planner(named).plan(parsed[-1]))).read
    except UnknownType as error:
        raise UnusableSchema(f"unknown type: {error}") from None
    except SchemaParseException as error:
        raise UnusableSchema(f"not an Avro schema: {error}") from None
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        raise UnusableSchema(f"not an Avro schema: {_reason(error)}") from None


def _reason(error: Exception) -> str:
    """Return in words why a text is not a schema."""
    if isinstance(error, json.JSONDecodeError | UnicodeDecodeError):
        return f"not JSON: {error}"
    if isinstance(error, KeyError):
        return f"{error.args[0]} is missing"
    if isinstance(error, RecursionError):
        return "nested too deeply"
    return str(error)


def _tried(decoder: AvroDecoder) -> AvroDecoder:
    """Return the decoder. Raises `UnusableSchema` if one record has too many values that take no bytes."""
    try:
        decoder.read(b"", 0)
    except TooManyValues as error:
        raise UnusableSchema(f"its values hold {error}") from None
    except (RecursionError, ValueError):  # bytes are wanted
        pass
    return decoder


class _Planner:
    """Turns parsed schemas into plans. A named schema is planned once, as it may contain itself."""

    def __init__(self, named: Mapping[str, Any]) -> None:
        self._named = named
        self._plans: dict[str, Plan] = {}

    def plan(self, schema: Any) -> Plan:  # noqa: ANN401 - any JSON
        if isinstance(schema, list):
            union = Plan("union")
            union.children.extend(map(self.plan, schema))
            return union
        if isinstance(schema, str):
            return Plan(_PRIMITIVES[schema]) if schema in _PRIMITIVES else self._named_plan(schema)
        kind = schema["type"]
        if kind in {"record", "error", "enum", "fixed"}:
            return self._named_plan(schema["name"])
        if kind in {"array", "map"}:
            holder = Plan(kind)
            holder.children.append(self.plan(schema["items" if kind == "array" else "values"]))
            return holder
        return _logical(schema) or self.plan(kind)

    def _named_plan(self, name: str) -> Plan:
        if name not in self._plans:
            schema = self._named[name]
            kind = schema["type"]
            if kind == "enum":
                self._plans[name] = Plan("enum", _names(schema["symbols"], _LONGEST_SYMBOL))
            elif kind == "fixed":
                self._plans[name] = _logical(schema) or Plan("fixed", size=_size(schema))
            else:
                record = self._plans[name] = Plan(
                    "record", _names([field["name"] for field in schema["fields"]])
                )
                record.children.extend(self.plan(field["type"]) for field in schema["fields"])
        return self._plans[name]


def _logical(schema: Mapping[str, Any]) -> Plan | None:
    """Return the plan of a logical type; None if it is unknown or does not fit its underlying type."""
    logical, kind = schema.get("logicalType"), schema["type"]
    if logical == "decimal" and kind in {"bytes", "fixed"}:
        size = _size(schema) if kind == "fixed" else -1
        return Plan("decimal", size=size, scale=_number(schema.get("scale", 0), "scale", -_MOST_SCALE))
    if kind in {"int", "long"}:
        if logical == "date":
            return Plan("date")
        if logical in _PER_MILLISECOND:
            return Plan("scaled", scale=_PER_MILLISECOND[logical])
    if logical == "uuid" and kind == "fixed" and schema["size"] == _UUID_BYTES:
        return Plan("uuid", size=_UUID_BYTES)
    return None


def _names(values: Sequence[object], longest: int | None = None) -> list[str]:
    """Return names of fields or symbols. Raises `UnusableSchema` unless they are texts in UTF-8."""
    names: list[str] = []
    for name in values:
        if type(name) is not str or not is_utf8(name):
            raise UnusableSchema(f"invalid name {name!r:.80}")
        if longest is not None and len(name) > longest:
            raise UnusableSchema(
                f"a symbol has {len(name)} characters, expected at most {longest}: {name!r:.80}"
            )
        names.append(name)
    return names


def _size(schema: Mapping[str, Any]) -> int:
    return _number(schema["size"], "size", 0)


def _number(value: object, what: str, least: int) -> int:
    if type(value) is not int or not least <= value < _MOST_SCALE:
        raise UnusableSchema(f"{what}: expected a large enough number of 32 bits, got {value!r:.80}")
    return value
