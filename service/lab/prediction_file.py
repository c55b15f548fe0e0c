"""Write what was predicted of each event of a file, with its truth, as a table: CSV, NDJSON or Parquet."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from service.errors import ConfigurationError
from service.messages.schema import PREDICTION, labels_in
from service.models.model_file import write_atomically
from service.settings.code import need
from service.stream.protocol import Output

COLUMNS: Final = tuple(field.name for field in PREDICTION)


class PredictionFile:
    """Collects predictions, which get their truths when their labels come, and writes them at the end.

    Parameters
    ----------
    path
        Its extension says how.

    Raises
    ------
    ConfigurationError
        It says none of `FORMS`, or what writes it is not installed.

    """

    def __init__(self, path: Path) -> None:
        self._path = path
        if path.suffix not in _FORMS:
            raise ConfigurationError(f"--predictions: {path} ends in none of {', '.join(_FORMS)}")
        if path.suffix == ".parquet":
            need("pyarrow", "a Parquet file", "arrow")
        self._rows: list[dict[str, Any]] = []
        self._by_id: dict[str, dict[str, Any]] = {}

    def observe(self, outputs: Iterable[Output], topic: str, *, are_timed: bool) -> None:
        """Take the predictions and outcomes of a batch."""
        for output in outputs:
            if output.topic != topic:
                continue
            answer = json.loads(output.value or b"")
            if "predicted" in answer:
                row = self._by_id[answer["id"]]
                row["truth"], row["mistake"] = labels_in(answer)[1], answer["mistake"]
                continue
            row = {name: answer.get(name) for name in COLUMNS}
            if not are_timed:
                row["event_time_ms"] = None
            self._rows.append(row)
            self._by_id[answer["id"]] = row

    def write(self) -> int:
        """Write the rows, in the order of the events; return how many. Raises `ServiceError`."""
        write_atomically(self._path, _FORMS[self._path.suffix](self._rows))
        return len(self._rows)


Rows = list[dict[str, Any]]


def _ndjson(rows: Rows) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def _csv(rows: Rows) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows([_cell(value) for value in row.values()] for row in rows)
    return text.getvalue().encode()


def _cell(value: object) -> object:
    """Return true and false as JSON has them."""
    return json.dumps(value) if isinstance(value, bool) else value


def _parquet(rows: Rows) -> bytes:
    import pyarrow as pa  # noqa: PLC0415 - an extra, and slow to import
    from pyarrow import parquet  # noqa: PLC0415

    known = {str: pa.string(), float: pa.float64(), int: pa.int64(), bool: pa.bool_()}
    types = {field.name: known[field.types[0]] for field in PREDICTION if len(field.types) == 1}
    types["event_time_ms"] = pa.timestamp("ms", tz="UTC")
    columns = {name: [row[name] for row in rows] for name in COLUMNS}
    for name in {*COLUMNS} - types.keys():  # labels
        if {type(value) for value in columns[name]} > {type(None), bool, str}:
            columns[name] = [None if value is None else str(value) for value in columns[name]]
    table = pa.table({name: pa.array(column, types.get(name)) for name, column in columns.items()})
    content = io.BytesIO()
    parquet.write_table(table, content)
    return content.getvalue()


_FORMS: Final[Mapping[str, Callable[[Rows], bytes]]] = {
    ".ndjson": _ndjson,
    ".jsonl": _ndjson,
    ".csv": _csv,
    ".parquet": _parquet,
}
