"""Avro's binary encoding. In: bytes, and the plan of a schema. Out: dictionaries, lists and scalars.

This is the interpreted form; `avro_decoder.pyx` is the compiled one, and means the same. Values become plain
as they are read: `service.formats.avro` says how. Avro 1.12, Specification, "Binary encoding".
"""

from __future__ import annotations

import struct
from typing import Any, Final

from service.formats.budget import TooManyValues, most_values
from service.formats.plain_values import iso_date, scaled, uuid_text

NOTHING, BOOLEAN, LONG, FLOAT, DOUBLE, STRING = range(6)
BYTES, FIXED, ENUM, ARRAY, MAP, UNION, RECORD = range(6, 13)
DECIMAL, DATE, SCALED, UUID = range(13, 17)
"""What a `Plan` reads. DECIMAL, DATE, SCALED and UUID are logical types."""

MAX_DEPTH: Final = 100
"""Values within values: as many as Protobuf and JSON allow at least, and no stack overflows."""

_FLOAT: Final = struct.Struct("<f")
_DOUBLE: Final = struct.Struct("<d")
_VARINT_BITS: Final = 70
_UUID_BYTES: Final = 16


class Plan:
    """How values of one schema are read.

    Parameters
    ----------
    op
        What they are: one of the constants above.
    names
        Of a record's fields, or an enum's symbols.
    size
        Bytes of a fixed, -1 where the length precedes it; of a decimal likewise.
    scale
        Of a decimal. Of a scaled number, by what it is divided.

    Attributes
    ----------
    children : list[Plan]
        Plans of the fields, branches or items; filled later, as a schema may contain itself.

    """

    __slots__ = ("children", "names", "op", "scale", "size")

    def __init__(self, op: int, names: list[str] | None = None, size: int = -1, scale: int = 1) -> None:
        self.op = op
        self.names = names or []
        self.children: list[Plan] = []
        self.size = size
        self.scale = scale


class AvroDecoder:
    """Reads values of one schema.

    Parameters
    ----------
    plan
        Of the schema.

    """

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._data = b""
        self._at = 0
        self._left = 0
        """Values that may still come: of nulls, which have no bytes, any number could."""

    def read(self, data: bytes, start: int, instead: bytes | None = None) -> object:
        """Read one value that begins at `start` and ends with the data, or all of `instead`.

        Raises
        ------
        ValueError
            The bytes are no such value; or, `TooManyValues`, they hold more than `most_values`.
        RecursionError
            Values are nested more than `MAX_DEPTH` deep.

        """
        if instead is not None:
            data, start = instead, 0
        if not 0 <= start <= len(data):
            raise ValueError(f"{start} lies outside the data")
        self._data, self._at, self._left = data, start, most_values(len(data))
        value = self._read(self._plan, MAX_DEPTH)
        if self._at != len(data):
            raise ValueError(f"{len(data) - self._at} bytes are left behind the value")
        return value

    def _read(self, plan: Plan, depth: int) -> object:
        if not depth:
            raise RecursionError(f"values are nested more than {MAX_DEPTH} deep")
        return self._by_op[plan.op](self, plan, depth - 1)

    def _take(self, n_bytes: int) -> bytes:
        end = self._at + n_bytes
        if n_bytes < 0 or end > len(self._data):
            raise ValueError(
                f"{n_bytes} bytes are wanted at byte {self._at}, {len(self._data) - self._at} are there"
            )
        found = self._data[self._at : end]
        self._at = end
        return found

    def _long(self) -> int:
        value = shift = 0
        while shift < _VARINT_BITS:
            byte = self._take(1)[0]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:  # noqa: PLR2004 - the last one
                value &= 0xFFFF_FFFF_FFFF_FFFF
                return (value >> 1) ^ -(value & 1)
            shift += 7
        raise ValueError(f"a number of more than ten bytes before byte {self._at}")

    def _read_null(self, _plan: Plan, _depth: int) -> None:
        return None

    def _read_boolean(self, _plan: Plan, _depth: int) -> bool:
        byte = self._take(1)[0]
        if byte > 1:
            raise ValueError(f"{byte} is no boolean")
        return byte == 1

    def _read_long(self, _plan: Plan, _depth: int) -> int:
        return self._long()

    def _read_float(self, _plan: Plan, _depth: int) -> float:
        return float(_FLOAT.unpack(self._take(4))[0])

    def _read_double(self, _plan: Plan, _depth: int) -> float:
        return float(_DOUBLE.unpack(self._take(8))[0])

    def _read_string(self, _plan: Plan, _depth: int) -> str:
        return self._take(self._long()).decode()

    def _read_bytes(self, _plan: Plan, _depth: int) -> None:
        self._take(self._long())

    def _read_fixed(self, plan: Plan, _depth: int) -> None:
        self._take(plan.size)

    def _read_enum(self, plan: Plan, _depth: int) -> str:
        return plan.names[self._index(len(plan.names))]

    def _index(self, count: int) -> int:
        index = self._long()
        if not 0 <= index < count:
            raise ValueError(f"{index} is none of {count} branches or symbols")
        return index

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
                name = self._take(self._long()).decode()
                items[name] = self._read(item, depth)
        return items

    def _count(self) -> int:
        """Return how many items the next block has; 0 is the end."""
        count = self._long()
        if count < 0:
            count = -count
            self._long()  # its length in bytes
        self._spend(count)
        return count

    def _spend(self, count: int) -> None:
        """Take values off those that may come; a union is none besides what it holds."""
        self._left -= count
        if self._left < 0:
            raise TooManyValues(len(self._data))

    def _read_union(self, plan: Plan, depth: int) -> object:
        return self._read(plan.children[self._index(len(plan.children))], depth)

    def _read_record(self, plan: Plan, depth: int) -> dict[str, Any]:
        fields = {
            name: self._read(child, depth) for name, child in zip(plan.names, plan.children, strict=True)
        }
        self._spend(len(plan.names))  # now, since bytes may end before
        return fields

    def _read_decimal(self, plan: Plan, _depth: int) -> float:
        return scaled(self._take(self._long() if plan.size < 0 else plan.size), plan.scale)

    def _read_date(self, _plan: Plan, _depth: int) -> str:
        return iso_date(self._long())

    def _read_scaled(self, plan: Plan, _depth: int) -> int:
        return self._long() // plan.scale

    def _read_uuid(self, _plan: Plan, _depth: int) -> str:
        return uuid_text(self._take(_UUID_BYTES))

    _by_op: Final = (
        _read_null,
        _read_boolean,
        _read_long,
        _read_float,
        _read_double,
        _read_string,
        _read_bytes,
        _read_fixed,
        _read_enum,
        _read_array,
        _read_map,
        _read_union,
        _read_record,
        _read_decimal,
        _read_date,
        _read_scaled,
        _read_uuid,
    )
