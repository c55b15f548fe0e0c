"""Formats of a row a line: NDJSON, TSV and LIBSVM.

A row that is no example in its format is returned as its original bytes, which decoding refuses. A row
without an id is named by its number, from 1, behind a prefix: ``row-1``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from functools import partial
from typing import Any, Final

from service.datasets.cells import encode_event, label_value, plain_number
from service.datasets.columns import Columns
from service.datasets.rows import BadRow, BadRowError, CutLine, FileFormat, Lines

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


NDJSON: Final = FileFormat(
    "ndjson", (".ndjson", ".jsonl", ".json"), lambda lines, _: lines.without_newlines()
)
LINE_FORMATS: Final = (
    NDJSON,
    FileFormat("tsv", (".tsv", ".txt"), partial(line_events, tsv_event), has_fields=False),
    FileFormat(
        "libsvm", (".libsvm", ".svmlight", ".svm"), partial(line_events, libsvm_event), has_fields=False
    ),
)
