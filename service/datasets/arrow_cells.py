"""Convert the cells of Arrow columns to Python values.

Times become text in ISO 8601, in UTC where they have no zone, and durations seconds. They are computed from
the integers of the file: what pyarrow makes of nanoseconds depends on whether pandas is installed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from functools import cache
from itertools import islice, pairwise
from typing import Any, Final

from service.datasets.table_limits import MOST_CELL_BYTES, MOST_VALUES, map_parts, n_values, weight

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


def cells(column: Any) -> Iterable[Any]:  # noqa: ANN401 - pyarrow has no types
    """Return the values of a `pyarrow.Array`; those that have none in Python are `Unreadable`."""
    import pyarrow as pa  # noqa: PLC0415 - an extra, and slow to import
    from pyarrow import types  # noqa: PLC0415

    kind = column.type
    if write := _writer(kind):
        numbers = column.cast(pa.int32() if kind.bit_width == 32 else pa.int64()).to_pylist()  # noqa: PLR2004
        return [None if number is None else _tried(write, number) for number in numbers]
    if kind.num_fields and n_values(column) > MOST_VALUES:
        return _few_at_once(column)
    if not _has(kind, _is_shared) and not _has(kind, types.is_temporal):
        with suppress(ValueError, OverflowError):  # one of them: which, is found below
            return list(column.to_pylist())
    if types.is_dictionary(kind):
        return _of_dictionary(column)
    if kind.num_fields and not types.is_run_end_encoded(kind):
        return map(_checked, _nested(column))
    return (_tried(type(scalar).as_py, scalar) for scalar in column)  # one at a time


def may_be_long(batch: Any) -> bool:  # noqa: ANN401 - as above
    """Return whether a row of a `pyarrow.RecordBatch` may be longer than `MOST_CELL_BYTES`."""
    is_repeated = any(kind.num_fields and _has(kind, _is_shared) for kind in batch.schema.types)
    return is_repeated or bool(batch.nbytes > MOST_CELL_BYTES)


def _few_at_once(column: Any) -> Iterator[Any]:  # noqa: ANN401 - as above
    """Yield the values of a column that has too many of them to hold them all."""
    count = len(column)
    if count == 1:
        yield Unreadable(f"more than {MOST_VALUES} values in one row")
        return
    for half in (column.slice(0, count // 2), column.slice(count // 2)):
        yield from cells(half)


def _of_dictionary(column: Any) -> list[Any]:  # noqa: ANN401 - as above
    """Return values that are written once and occur many times; each is one object in Python as well."""
    import pyarrow as pa  # noqa: PLC0415 - as above

    indices = column.indices.to_pylist()
    used = sorted(set(indices) - {None})
    taken = column.dictionary.take(pa.array(used, pa.int64()))
    found = dict(zip(used, map(_checked, cells(taken)), strict=True))
    return [None if index is None else found[index] for index in indices]


def _nested(column: Any) -> Iterator[Any]:  # noqa: ANN401 - as above
    """Yield lists, dictionaries of a struct, and pairs of a map, made of the values in them."""
    import pyarrow.compute as pc  # noqa: PLC0415 - as above
    from pyarrow import types  # noqa: PLC0415

    kind, are_valid = column.type, column.is_valid().to_pylist()
    if types.is_struct(kind):
        names = [kind.field(i).name for i in range(kind.num_fields)]
        rows = zip(*map(cells, column.flatten()), strict=True)
        for is_valid, row in zip(are_valid, rows, strict=True):
            yield dict(zip(names, row, strict=True)) if is_valid else None
        return
    if types.is_map(kind):
        items = iter([list(pair) for pair in zip(*map(cells, map_parts(column)), strict=True)])
        offsets = column.offsets.to_pylist()
        lengths = [end - start for start, end in pairwise(offsets)]
    else:
        items = iter(cells(column.flatten()))
        lengths = [length or 0 for length in pc.list_value_length(column).to_pylist()]
    for is_valid, length in zip(are_valid, lengths, strict=True):
        found = list(islice(items, length))
        yield found if is_valid else None


def _checked(value: Any) -> Any:  # noqa: ANN401 - any value
    """Return a value, unless it is too long to be written as JSON."""
    if weight(value) > MOST_CELL_BYTES:
        return Unreadable(f"longer than {MOST_CELL_BYTES} bytes")
    return value


def _tried(convert: Callable[[Any], Any], cell: object) -> Any:  # noqa: ANN401 - any value
    try:
        return convert(cell)
    except OverflowError:
        return Unreadable("a time outside the years 1 to 9999")
    except UnicodeDecodeError:
        return Unreadable("bytes that are not UTF-8")
    except (ValueError, KeyError) as error:
        return Unreadable(str(error))


@cache
def _has(kind: Any, is_wanted: Callable[[Any], bool]) -> bool:  # noqa: ANN401 - as above
    """Return whether there are values of a sort in a value of a type, at any depth."""
    from pyarrow import types  # noqa: PLC0415 - as above

    if is_wanted(kind):
        return True
    if types.is_dictionary(kind):
        return _has(kind.value_type, is_wanted)
    return any(_has(kind.field(i).type, is_wanted) for i in range(kind.num_fields))


def _is_shared(kind: Any) -> bool:  # noqa: ANN401 - as above
    """Return whether several values of a type may be the same bytes in memory."""
    from pyarrow import types  # noqa: PLC0415 - as above

    tests = ("is_dictionary", "is_run_end_encoded", "is_string_view", "is_binary_view")
    return any(test(kind) for name in tests if (test := getattr(types, name, None)))


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
