"""Logs: each line is matched by a regular expression, whose named groups are the columns."""

from __future__ import annotations

import re
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Final

from service.datasets.cells import cell_value, encode_event
from service.datasets.columns import Columns
from service.datasets.csv_rows import row_fields
from service.datasets.rows import BadRow, CutLine, FileFormat, Lines, TimedRow
from service.datasets.tables import DamagedTable

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
_MOST_LINE_BYTES: Final = 1 << 20
MOST_SECONDS: Final = 2
"""For one line, at least half of it."""


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
    """Yield an event for each line that is not blank; a line that does not match is a bad row.

    Raises `DamagedTable` if the pattern takes too long.
    """
    pattern = compile_pattern(columns.log_pattern)
    header = list(pattern.groupindex)
    if not columns.mapping and columns.time is None and "time" in header:
        columns = replace(columns, time="time")  # no feature
    fields = row_fields(header, columns)
    with _bounded() as watch:
        for row, line in enumerate(lines.without_newlines(), start=1):
            if isinstance(line, CutLine) or len(line) > _MOST_LINE_BYTES:
                yield BadRow(line[:_MOST_LINE_BYTES], f"the line is longer than {_MOST_LINE_BYTES} bytes")
                continue
            text = line.decode(errors="surrogateescape").removesuffix("\r")
            match = watch.match(pattern, text, lines.number)
            if match is None:
                yield BadRow(line, "the line does not match --log-pattern")
                continue
            try:
                cells = [_cell(match[name]) for name in header]
                event = encode_event(columns.name(row) | fields(cells))
            except ValueError as error:
                yield BadRow(line, str(error))
            else:
                timed = columns.time is not None and not columns.mapping
                yield TimedRow(event, cell_value(cells[header.index(columns.time or "")])) if timed else event


def _cell(text: str | None) -> str:
    """Return a group's text, a time as ISO 8601; empty if there is none."""
    if text is None or text == _ABSENT:
        return ""
    if (time := _TIME.fullmatch(text)) and time[2] in _MONTHS:
        day, month, year, clock, hours, minutes = time.groups()
        return f"{year}-{_MONTHS.index(month) + 1:02}-{day}T{clock}{hours}:{minutes}"
    return text


class _Watch:
    """Ends the matching of a line that takes too long, as a pattern with nested repetitions may."""

    def __init__(self) -> None:
        self._line = self._seen = 0

    def match(self, pattern: re.Pattern[str], text: str, line: int) -> re.Match[str] | None:
        """Match a whole line. Raises `DamagedTable`."""
        self._line = line
        try:
            return pattern.fullmatch(text)
        finally:
            self._line = 0

    def tick(self, *_: object) -> None:
        """Raise `DamagedTable` if the line of the last tick is still at hand."""
        if self._line and self._line == self._seen:
            raise DamagedTable(
                f"--log-pattern takes more than {MOST_SECONDS / 2:g} s for line {self._line}: it may repeat "
                "a repetition, such as (a+)+; let each part match what the next one cannot begin with"
            )
        self._seen = self._line


@contextmanager
def _bounded() -> Iterator[_Watch]:
    """Yield what matches lines in bounded time, where there are signals."""
    watch = _Watch()
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield watch
        return
    before = signal.signal(signal.SIGALRM, watch.tick)
    signal.setitimer(signal.ITIMER_REAL, MOST_SECONDS / 2, MOST_SECONDS / 2)
    try:
        yield watch
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


LOG: Final = FileFormat("log", (".log",), log_events)
