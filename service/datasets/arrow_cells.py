"""Cells of Arrow columns. In: a column of a record batch. Out: a Python value for each cell.

Times become text in ISO 8601, in UTC where they have no zone, and durations seconds. They are computed from
the integers of the file: what pyarrow makes of nanoseconds depends on whether pandas is installed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from functools import cache
from typing import Any, Final

_PER_SECOND: Final = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_NANOSECONDS: Final = 10**9
_DAY_MILLISECONDS: Final = 86_400_000
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_DIGITS_OF_MICROSECONDS: Final = 6

Write = Callable[[int], "str | float"]


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A cell that has no value in Python, and why."""

    complaint: str


def cells(column: Any) -> list[Any]:  # noqa: ANN401 - pyarrow has no types
    """Return the values of a `pyarrow.Array`; what is none is `Unreadable`."""
    import pyarrow as pa  # noqa: PLC0415 - an extra, and slow to import

    kind = column.type
    if write := _writer(kind):
        numbers = column.cast(pa.int32() if kind.bit_width == 32 else pa.int64()).to_pylist()  # noqa: PLR2004
        return [None if number is None else _tried(write, number) for number in numbers]
    if not _has_times(kind):
        try:
            return list(column.to_pylist())
        except (ValueError, OverflowError):  # one of them: which, is found below
            pass
    return [_tried(_value, scalar) for scalar in column]


def _tried(convert: Callable[[Any], Any], cell: object) -> Any:  # noqa: ANN401 - any value
    try:
        return convert(cell)
    except OverflowError:
        return Unreadable("a time outside the years 1 to 9999")
    except UnicodeDecodeError:
        return Unreadable("bytes that are not UTF-8")
    except (ValueError, KeyError) as error:
        return Unreadable(str(error))


def _value(scalar: Any) -> Any:  # noqa: ANN401 - as above
    """Return what stands in one cell, at any depth."""
    from pyarrow import types  # noqa: PLC0415 - as above

    kind = scalar.type
    if not scalar.is_valid:
        return None
    if write := _writer(kind):
        return write(scalar.value)
    if types.is_struct(kind):
        return {kind.field(i).name: _value(scalar[i]) for i in range(kind.num_fields)}
    if types.is_map(kind):
        return [[_value(each[0]), _value(each[1])] for each in scalar.values]
    if _is_list(kind):
        return [_value(each) for each in scalar.values]
    return _value(scalar.value) if types.is_dictionary(kind) else scalar.as_py()


def _is_list(kind: Any) -> bool:  # noqa: ANN401 - as above
    from pyarrow import types  # noqa: PLC0415 - as above

    return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))


def _has_times(kind: Any) -> bool:  # noqa: ANN401 - as above
    """Return whether there are times in a value of a type, at any depth."""
    from pyarrow import types  # noqa: PLC0415 - as above

    if types.is_dictionary(kind):
        return _has_times(kind.value_type)
    inner = (kind.field(i).type for i in range(kind.num_fields))
    return types.is_temporal(kind) or any(map(_has_times, inner))


@cache
def _writer(kind: Any) -> Write | None:  # noqa: ANN401 - as above
    """Return the function that writes a time of a type; None for other types."""
    from pyarrow import types  # noqa: PLC0415 - as above

    if types.is_date(kind):
        per_day = 1 if kind.bit_width == 32 else _DAY_MILLISECONDS  # noqa: PLR2004
        return lambda number: (date(1970, 1, 1) + timedelta(days=number // per_day)).isoformat()
    if types.is_timestamp(kind):
        return lambda number: _timestamp(*_split(number, kind.unit), _zone(kind.tz))
    if types.is_time(kind):
        return lambda number: _time(*_split(number, kind.unit))
    if types.is_duration(kind):
        per_second = _PER_SECOND[kind.unit]
        return lambda number: number / per_second
    return None


def _split(number: int, unit: str) -> tuple[int, int]:
    """Return a time as seconds and nanoseconds."""
    seconds, rest = divmod(number, _PER_SECOND[unit])
    return seconds, rest * (_NANOSECONDS // _PER_SECOND[unit])


def _timestamp(seconds: int, nanoseconds: int, zone: tzinfo) -> str:
    microseconds, left = divmod(nanoseconds, 1000)
    moment = (_EPOCH + timedelta(seconds=seconds)).astimezone(zone).replace(microsecond=microseconds)
    return _with_nanoseconds(moment.isoformat(), left, len("2026-11-23T12:00:00"), microseconds)


def _time(seconds: int, nanoseconds: int) -> str:
    minutes, second = divmod(seconds, 60)
    hour, minute = divmod(minutes, 60)
    microseconds, left = divmod(nanoseconds, 1000)
    text = time(hour, minute, second, microseconds).isoformat()
    return _with_nanoseconds(text, left, len("12:00:00"), microseconds)


def _with_nanoseconds(text: str, nanoseconds: int, place: int, microseconds: int) -> str:
    """Put nanoseconds behind the microseconds, which `isoformat` leaves out where there are none."""
    if not nanoseconds:
        return text
    rest = text[place:] if not microseconds else text[place + 1 + _DIGITS_OF_MICROSECONDS :]
    return f"{text[:place]}.{microseconds:06d}{nanoseconds:03d}{rest}"


@cache
def _zone(name: str | None) -> tzinfo:
    """Return a time zone by the name it has in the file. Raises ValueError."""
    import pyarrow as pa  # noqa: PLC0415 - as above

    if name is None:
        return UTC
    try:
        zone = pa.scalar(0, pa.timestamp("s", name)).as_py().tzinfo
    except (ValueError, KeyError):
        raise ValueError(f"the time zone {name!r} is not known here") from None
    assert isinstance(zone, tzinfo)
    return zone
