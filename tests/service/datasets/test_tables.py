"""Parquet and Arrow files give the events that the same rows give in other formats."""

import json
import sys
from datetime import UTC, date, datetime
from decimal import Decimal

import pytest

from service.datasets.bad_rows import complaint_of
from service.datasets.files import open_source
from service.datasets.tables import DamagedTable, arrow_batches, parquet_batches
from service.errors import ConfigurationError, InputFileError
from service.settings.mapping import EventSettings

pa = pytest.importorskip("pyarrow")
feather = pytest.importorskip("pyarrow.feather")
parquet = pytest.importorskip("pyarrow.parquet")


def write_stream(table, path):
    with pa.ipc.new_stream(path, table.schema) as writer:
        writer.write_table(table)


WRITERS = {
    "x.parquet": parquet.write_table,
    "x.feather": feather.write_feather,
    "x.arrow": write_stream,
}
ROWS = [
    {"id": 7, "text": "win", "size": 2, "lang": "en", "urgent": True, "label": "spam"},
    {"id": 8, "text": None, "size": 2.5, "lang": None, "urgent": False, "label": None},
]


@pytest.fixture
def read(tmp_path):
    """Write rows to a file; return its messages."""

    def run(rows, name="x.parquet", **options):
        path = tmp_path / name
        WRITERS[name](pa.Table.from_pylist(rows), path)
        with open_source(str(path), **options) as source:
            return list(source)

    return run


@pytest.mark.parametrize("name", WRITERS)
def test_columns_are_what_those_of_a_csv_file_are(read, name):
    assert [json.loads(message) for message in read(ROWS, name)] == [
        {"id": "7", "features": {"size": 2, "lang": "en", "urgent": True}, "text": "win", "label": "spam"},
        {"id": "8", "features": {"size": 2.5, "urgent": False}, "text": ""},
    ]


@pytest.mark.parametrize("name", WRITERS)
def test_of_many_rows_none_is_lost(read, name):
    found = read([{"x": n} for n in range(5000)], name)
    assert [json.loads(message)["id"] for message in found] == [f"row-{n}" for n in range(1, 5001)]


def test_a_row_that_is_to_be_mapped_is_a_document(read):
    row = {"uuid": 7, "mail": {"to": None, "tags": ["a", "b"]}, "n": None}
    (message,) = read([row], mapping=EventSettings(id="uuid"))
    assert json.loads(message) == {"uuid": 7, "mail": {"to": None, "tags": ["a", "b"]}}


def test_times_decimals_and_bytes_are_written_as_json_can(read):
    row = {
        "at": datetime(2026, 11, 23, 12, tzinfo=UTC),
        "naive": datetime(2026, 11, 23, 12),  # noqa: DTZ001 - what it is about
        "day": date(2026, 11, 23),
        "price": Decimal("1.25"),
        "name": b"caf\xc3\xa9",
    }
    (message,) = read([row], mapping=EventSettings(id="name"))
    assert json.loads(message) == {
        "at": "2026-11-23T12:00:00+00:00",
        "naive": "2026-11-23T12:00:00+00:00",
        "day": "2026-11-23",
        "price": 1.25,
        "name": "café",
    }


def test_bytes_that_are_no_text_make_a_bad_row_that_names_the_column(read):
    (row,) = read([{"blob": b"\xff"}])
    assert complaint_of(row, "") == "column 'blob': bytes that are not UTF-8"


def test_a_class_name_that_is_a_number_is_a_name(read):
    (message,) = read([{"x": 1, "label": 3}], classes=("1", "2", "3"))
    assert json.loads(message)["label"] == "3"


def test_the_place_of_a_message_is_the_number_of_its_row(tmp_path):
    path = tmp_path / "x.parquet"
    parquet.write_table(pa.Table.from_pylist(ROWS), path)
    with open_source(str(path)) as source:
        assert [source.place for _ in source] == [f"{path}:1", f"{path}:2"]


@pytest.mark.parametrize("name", WRITERS)
def test_a_file_that_is_no_table_is_refused(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(b"id,text\na,win\n" * 100)
    with open_source(str(path)) as source, pytest.raises(InputFileError, match="another format"):
        list(source)


@pytest.mark.parametrize(("name", "batches"), [("x.parquet", parquet_batches), ("x.feather", arrow_batches)])
def test_what_has_its_index_at_the_end_is_not_read_from_a_pipe(tmp_path, name, batches):
    WRITERS[name](pa.Table.from_pylist(ROWS), tmp_path / name)
    with (tmp_path / name).open("rb") as file:
        file.seekable = lambda: False
        with pytest.raises(DamagedTable, match="from a pipe"):
            batches(file)


def test_a_column_that_was_named_must_be_there(read):
    with pytest.raises(InputFileError, match="no column 'verdict'"):
        read(ROWS, label_column="verdict")


def test_without_the_extra_it_is_named(monkeypatch, tmp_path):
    path = tmp_path / "x.parquet"
    path.write_bytes(b"PAR1")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with open_source(str(path)) as source, pytest.raises(ConfigurationError) as refused:
        list(source)
    assert "online-perceptron[arrow]" in refused.value.hint
