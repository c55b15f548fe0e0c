"""Formats of a row a line: NDJSON, TSV, LIBSVM and logs.

A row that is no example in its format is returned as its original bytes, which decoding refuses. A row
without an id is named by its number, from 1, behind a prefix: ``row-1``. A line of a log is matched by a
regular expression, whose named groups are its columns.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from functools import partial
from typing import Any, Final

from service.files.columns import Columns
from service.files.csv_files import row_fields
from service.files.rows import (
    BadRow,
    BadRowError,
    CutLine,
    FileFormat,
    Lines,
    TimedRow,
    cell_value,
    encode_event,
    label_value,
    plain_number,
)

_HEAD: Final = r'(?P<host>\S+) \S+ (?P<user>\S+) \[(?P<time>[^\]]+)\] "'
_REQUEST: Final = (
    r'(?:(?P<method>[A-Z]+) (?P<path>[^"\\ ]+)(?: (?P<protocol>HTTP/[\d.]+))?|(?P<request>(?:[^"\\]|\\.)*))"'
)
_ANSWER: Final = r" (?P<status>\d{3}) (?P<bytes>\d+|-)"
_AGENT: Final = r' "(?P<referer>(?:[^"\\]|\\.)*)" "(?P<agent>(?:[^"\\]|\\.)*)"'
PATTERNS: Final = {
    "combined": f"{_HEAD}{_REQUEST}{_ANSWER}(?:{_AGENT})?.*",
    "common": f"{_HEAD}{_REQUEST}{_ANSWER}",
}
"""Of Apache and nginx, by their names; the last columns of `combined` may be missing."""
_TIME: Final = re.compile(r"(\d\d)/([A-Z][a-z]{2})/(\d{4}):(\d\d:\d\d:\d\d) ([+-]\d\d)(\d\d)")
_MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_ABSENT: Final = "-"
_MOST_LOG_BYTES: Final = 1 << 20

Parse = Callable[[str, Collection[str]], dict[str, Any]]
"""Turns a row's text into the fields of an event; `BadRowError` or ValueError if it is none."""


def line_events(parse: Parse, lines: Lines, columns: Columns) -> Iterator[bytes]:
    """Yield an event for each line that is not blank."""
    for row, line in enumerate(lines.without_newlines(), start=1):
        if isinstance(line, CutLine):
            yield line
            continue
        try:
            fields = parse(line.decode().removesuffix("\r"), columns.classes)
            yield encode_event(columns.name(row) | fields)
        except ValueError as error:
            yield BadRow(line, str(error))


def tsv_event(line: str, classes: Collection[str]) -> dict[str, Any]:
    """Read ``label<TAB>text``; nothing is quoted, further tabs belong to the text."""
    label, tab, text = line.partition("\t")
    if not tab:
        raise BadRowError("no tab between label and text")
    return {"text": text, "label": label_value(label, classes)}


def libsvm_event(line: str, classes: Collection[str]) -> dict[str, Any]:
    """Read ``label index:value … # comment``; a feature is named by its index. The label may be missing."""
    fields = line.partition("#")[0].split()
    label = fields.pop(0) if fields and ":" not in fields[0] else ""
    pairs = [field.partition(":") for field in fields]
    features = {index: _number(index, value) for index, _, value in pairs}
    if len(features) < len(pairs) or not all(index.isdecimal() for index in features):
        raise BadRowError("an index is no number or occurs twice")
    return {"features": features, "label": label_value(label, classes)}


def _number(index: str, value: str) -> float:
    try:
        return plain_number(float(value))
    except ValueError:
        raise BadRowError(f"index {index}: {value!r} is no number") from None


def compile_pattern(pattern: str) -> re.Pattern[str]:
    """Return a pattern by its name, or one that is written out. Raises ValueError."""
    try:
        compiled = re.compile(PATTERNS.get(pattern, pattern))
    except (re.error, RecursionError, OverflowError) as error:
        place = getattr(error, "pos", None)
        where = "" if place is None else f" at character {place + 1}"
        raise ValueError(f"no regular expression{where}: {getattr(error, 'msg', error)}") from None
    if not compiled.groupindex:
        raise ValueError(f"no named group, such as (?P<host>\\S+), and none of {', '.join(PATTERNS)}")
    return compiled


def log_events(lines: Lines, columns: Columns) -> Iterator[bytes]:
    """Yield an event for each line that is not blank; a line that does not match is a bad row."""
    pattern = compile_pattern(columns.log_pattern)
    header = list(pattern.groupindex)
    if columns.time is None and "time" in header:
        columns = replace(columns, time="time")  # no feature
    fields = row_fields(header, columns)
    timed = header.index(columns.time) if columns.time is not None and not columns.mapping else None
    for row, line in enumerate(lines.without_newlines(), start=1):
        if isinstance(line, CutLine) or len(line) > _MOST_LOG_BYTES:
            yield BadRow(line[:_MOST_LOG_BYTES], f"the line is longer than {_MOST_LOG_BYTES} bytes")
            continue
        match = pattern.fullmatch(line.decode(errors="surrogateescape").removesuffix("\r"))
        if match is None:
            yield BadRow(line, "the line does not match --log-pattern")
            continue
        cells = [_cell(match[name]) for name in header]
        try:
            event = encode_event(columns.name(row) | fields(cells))
        except ValueError as error:
            yield BadRow(line, str(error))
        else:
            yield event if timed is None else TimedRow(event, cell_value(cells[timed]))


def _cell(text: str | None) -> str:
    """Return a group's text, a time as ISO 8601; empty if there is none."""
    if text is None or text == _ABSENT:
        return ""
    if (time := _TIME.fullmatch(text)) and time[2] in _MONTHS:
        day, month, year, clock, hours, minutes = time.groups()
        return f"{year}-{_MONTHS.index(month) + 1:02}-{day}T{clock}{hours}:{minutes}"
    return text


NDJSON: Final = FileFormat(
    "ndjson", (".ndjson", ".jsonl", ".json"), lambda lines, _: lines.without_newlines()
)
LOG: Final = FileFormat("log", (".log",), log_events)
LINE_FORMATS: Final = (
    NDJSON,
    FileFormat("tsv", (".tsv", ".txt"), partial(line_events, tsv_event), has_fields=False),
    FileFormat(
        "libsvm", (".libsvm", ".svmlight", ".svm"), partial(line_events, libsvm_event), has_fields=False
    ),
    LOG,
)
