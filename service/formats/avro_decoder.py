"""Avro's binary encoding: from bytes and the plan of a schema to dictionaries, lists and scalars.

Values become plain as they are read: `service.formats.avro` lists how. Source: Avro 1.12, Specification,
"Binary encoding".
"""

from __future__ import annotations

import struct
from typing import Any, Final

from service.formats.plain_values import (
    FREE_VALUES,
    TooManyValues,
    iso_date,
    most_values,
    scaled,
    uuid_text,
    varint,
)

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
        """Whether the limit is the one that any record has, however short it is."""

    def read(self, data: bytes, start: int) -> object:
        """Read one value that begins at `start` and ends with the data.

        Raises
        ------
        ValueError
            The bytes are not a value of the schema; `TooManyValues` if they hold more than `most_values`.
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
            self._left += most_values(len(self._data)) - FREE_VALUES
            self._is_free = False
        if count > self._left:
            raise TooManyValues(len(self._data))
        self._left -= count
