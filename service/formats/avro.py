"""Make readers of Avro values, which become dictionaries, lists and scalars.

decimal                          number, the nearest double
date                             text, 2026-11-23
timestamp-…, local-timestamp-…   milliseconds since 1970
time-…                           milliseconds since midnight
uuid, enum                       text
bytes, fixed, duration           None: a missing value

A schema becomes a plan for reading the bytes of a value. Source: Avro 1.12, Specification,
"Binary encoding".
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from service.formats.plain_values import (
    FREE_VALUES,
    TooManyValues,
    is_utf8,
    iso_date,
    max_values,
    scaled,
    uuid_text,
    varint,
)
from service.formats.protobuf import UnusableSchema
from service.messages.json_values import read_value
from service.messages.rejection import Rejection
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
_MAX_SCALE: Final = 1 << 31
_MAX_SYMBOL_LENGTH: Final = 256
"""Characters: a byte of a record names a symbol, and an array of such bytes may become one text."""
MAX_DEPTH: Final = 100
"""Deepest nesting of values: at least what Protobuf and JSON allow, and too little to overflow the stack."""

_64_BITS: Final = 0xFFFF_FFFF_FFFF_FFFF
_DOUBLE_AT: Final = struct.Struct("<d").unpack_from
_FLOAT_AT: Final = struct.Struct("<f").unpack_from
_NULL, _BOOLEAN, _LONG, _FLOAT, _DOUBLE, _STRING, _BYTES, _FIXED, _ENUM = range(9)
_ARRAY, _MAP, _UNION, _RECORD, _DECIMAL, _DATE, _SCALED, _UUID = range(9, 17)
_KINDS: Final = (
    *("null", "boolean", "long", "float", "double", "string", "bytes", "fixed", "enum"),
    *("array", "map", "union", "record", "decimal", "date", "scaled", "uuid"),
)
"""Types and logical types, in the order of their numbers."""


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
        parsed = [parse_schema(read_value(part), named_schemas=named) for part in parts]
        return _tried(AvroDecoder(_Planner(named).plan(parsed[-1]))).read
    except Rejection as error:
        raise UnusableSchema(f"not JSON: {error.message}") from None
    except UnknownType as error:
        raise UnusableSchema(f"unknown type: {error}") from None
    except SchemaParseException as error:
        raise UnusableSchema(f"not an Avro schema: {error}") from None
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        raise UnusableSchema(f"not an Avro schema: {_reason(error)}") from None


def _reason(error: Exception) -> str:
    """Return in words why a text is not a schema."""
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
                self._plans[name] = Plan("enum", _names(schema["symbols"], _MAX_SYMBOL_LENGTH))
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
        return Plan("decimal", size=size, scale=_number(schema.get("scale", 0), "scale", -_MAX_SCALE))
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
    if type(value) is not int or not least <= value < _MAX_SCALE:
        raise UnusableSchema(f"{what}: expected a large enough number of 32 bits, got {value!r:.80}")
    return value


class Plan:
    """How values of one schema are read.

    Parameters
    ----------
    kind
        Type or logical type of the values; `long` also for an int, `scaled` for a number that is divided.
    names
        Names of a record's fields, or an enum's symbols.
    size
        Length in bytes of a fixed or a decimal; -1 if the length precedes the value.
    scale
        Scale of a decimal; divisor of a scaled number.

    Attributes
    ----------
    children : list[Plan]
        Plans of the fields, branches or items; filled later, as a schema may contain itself.

    """

    def __init__(self, kind: str, names: list[str] | None = None, size: int = -1, scale: int = 1) -> None:
        self.op = _KINDS.index(kind)
        self.names = names or []
        self.children: list[Plan] = []
        self.size = size
        self.scale = scale


class AvroDecoder:
    """Reads values of one schema.

    Parameters
    ----------
    plan
        The plan of the schema.

    """

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._data = b""
        self._at = self._end = 0
        self._left = 0
        """How many values may still follow: nulls take no bytes, so their number needs a limit."""
        self._is_free = True
        """Whether the limit is the least limit, which records of any length have."""

    def read(self, data: bytes, start: int) -> object:
        """Read one value that begins at `start` and ends with the data.

        Raises
        ------
        ValueError
            The bytes are not a value of the schema; `TooManyValues` if they hold more than `max_values`.
        RecursionError
            Values are nested more than `MAX_DEPTH` deep.

        """
        if not 0 <= start <= len(data):
            raise ValueError(f"position {start} is outside the data")
        self._data, self._at, self._end = data, start, len(data)
        self._left, self._is_free = FREE_VALUES, True
        value = self._read(self._plan, MAX_DEPTH)
        if self._at != self._end:
            raise ValueError(f"{self._end - self._at} bytes are left after the value")
        return value

    def _read(self, plan: Plan, depth: int) -> Any:  # noqa: ANN401, C901, PLR0911, PLR0912 - whatever there is
        if not depth:
            raise RecursionError(f"values are nested more than {MAX_DEPTH} levels deep")
        op = plan.op
        if op == _DOUBLE:
            return _DOUBLE_AT(self._data, self._take(8))[0]
        if op == _STRING:
            return self._text()
        if op == _UNION:
            return self._read(plan.children[self._index(len(plan.children))], depth - 1)
        if op == _NULL:
            return None
        if op == _LONG:
            return self._long()
        if op == _BOOLEAN:
            return self._boolean()
        if op == _FLOAT:
            return _FLOAT_AT(self._data, self._take(4))[0]
        if op == _RECORD:
            return self._read_record(plan, depth - 1)
        if op == _MAP:
            return self._read_map(plan, depth - 1)
        if op == _ARRAY:
            return self._read_array(plan, depth - 1)
        if op == _ENUM:
            return plan.names[self._index(len(plan.names))]
        if op == _DATE:
            return iso_date(self._long())
        if op == _SCALED:
            return self._long() // plan.scale
        return self._read_bytes(plan)

    def _read_bytes(self, plan: Plan) -> Any:  # noqa: ANN401 - a number, a text or None
        size = self._long() if plan.size < 0 else plan.size
        start = self._take(size)
        if plan.op == _DECIMAL:
            return scaled(self._data[start : start + size], plan.scale)
        return uuid_text(self._data[start : start + size]) if plan.op == _UUID else None

    def _read_array(self, plan: Plan, depth: int) -> list[Any]:
        items: list[Any] = []
        item = plan.children[0]
        while count := self._count():
            items += [self._read(item, depth) for _ in range(count)]
        return items

    def _read_map(self, plan: Plan, depth: int) -> dict[str, Any]:
        items: dict[str, Any] = {}
        item = plan.children[0]
        while count := self._count():
            for _ in range(count):
                name = self._text()
                items[name] = self._read(item, depth)
        return items

    def _read_record(self, plan: Plan, depth: int) -> dict[str, Any]:
        fields = {
            name: self._read(child, depth) for name, child in zip(plan.names, plan.children, strict=True)
        }
        self._spend(len(plan.names))  # now, since bytes may end before
        return fields

    def _boolean(self) -> bool:
        byte = self._data[self._take(1)]
        if byte > 1:
            raise ValueError(f"expected a boolean, got byte {byte}")
        return byte == 1

    def _text(self) -> str:
        size = self._long()
        start = self._take(size)
        return self._data[start : start + size].decode("utf-8")

    def _take(self, n_bytes: int) -> int:
        """Return where the next bytes begin, and advance past them."""
        start = self._at
        if n_bytes < 0 or n_bytes > self._end - start:
            raise ValueError(f"expected {n_bytes} bytes at byte {start}, got {self._end - start}")
        self._at = start + n_bytes
        return start

    def _long(self) -> int:
        try:
            byte = self._data[self._at]
            if byte < 0x80:  # noqa: PLR2004 - the only one, as in most numbers
                self._at += 1
                return (byte >> 1) ^ -(byte & 1)
            value, self._at = varint(self._data, self._at)
        except IndexError:
            raise ValueError(f"expected a number of at most ten bytes at byte {self._at}") from None
        value &= _64_BITS
        return (value >> 1) ^ -(value & 1)

    def _index(self, count: int) -> int:
        index = self._long()
        if not 0 <= index < count:
            raise ValueError(f"expected one of {count} branches or symbols, got number {index}")
        return index

    def _count(self) -> int:
        """Return how many items the next block has; 0 is the end."""
        count = self._long()
        if count < 0:
            self._long()  # its length in bytes
            self._spend(1)
            count = -(count + 1)  # first, as the lowest 64-bit number has no opposite
            self._spend(count)
            return count + 1
        self._spend(count)
        return count

    def _spend(self, count: int) -> None:
        """Subtract values from the limit. A union counts only as the value that it holds."""
        if count > self._left and self._is_free:
            self._left += max_values(len(self._data)) - FREE_VALUES
            self._is_free = False
        if count > self._left:
            raise TooManyValues(len(self._data))
        self._left -= count
