"""Parquet and Arrow files give the events that the same rows give in other formats."""

import json
import subprocess
import sys
from datetime import UTC, date, datetime
from decimal import Decimal

import pytest

from service.errors import ConfigurationError, InputFileError
from service.files.rows import BadRow, DamagedFile
from service.files.sources import open_source
from service.files.tables import arrow_table, parquet_table
from service.settings.mapping import EventSettings
from tests.service.files.opened import opened

pa = pytest.importorskip("pyarrow")
feather = pytest.importorskip("pyarrow.feather")
parquet = pytest.importorskip("pyarrow.parquet")


def write_stream(table, path):
    with pa.ipc.new_stream(path, table.schema) as writer:
        writer.write_table(table)


WRITERS = {"x.parquet": parquet.write_table, "x.feather": feather.write_feather, "x.arrow": write_stream}
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
        with opened(path, **options) as source:
            return list(source)

    return run


@pytest.mark.parametrize("name", WRITERS)
def test_columns_of_tables_are_read_as_in_csv(read, name):
    assert [json.loads(message) for message in read(ROWS, name)] == [
        {"id": "7", "features": {"size": 2, "lang": "en", "urgent": True}, "text": "win", "label": "spam"},
        {"id": "8", "features": {"size": 2.5, "urgent": False}, "text": ""},
    ]


@pytest.mark.parametrize("name", WRITERS)
def test_table_of_5000_rows_is_read_completely(tmp_path, name):
    path = tmp_path / name
    WRITERS[name](pa.table({"x": range(5000)}), path)
    with opened(path) as source:
        found = [(source.location, json.loads(message)["id"]) for message in source]
    assert found == [(f"{path}:{n}", f"row-{n}") for n in range(1, 5001)]


def test_mapped_row_becomes_a_document(read):
    row = {"uuid": 7, "mail": {"to": None, "tags": ["a", "b"]}, "n": None}
    (message,) = read([row], mapping=EventSettings(id="uuid"))
    assert json.loads(message) == {"uuid": 7, "mail": {"to": None, "tags": ["a", "b"]}}


def test_times_decimals_and_bytes_have_json_forms(read):
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


@pytest.fixture
def documents(tmp_path):
    """Write one column; return its values as those of documents."""

    def run(column, **options):
        path = tmp_path / "x.arrow"
        write_stream(pa.table({"x": column}), path)
        with opened(path, mapping=EventSettings(features=("x",)), **options) as source:
            return [json.loads(row).get("x") for row in source]

    return run


NANOSECONDS = 1_795_435_200_123_456_789


@pytest.mark.parametrize(
    ("number", "kind", "value"),
    [
        (NANOSECONDS, pa.timestamp("ns"), "2026-11-23T12:00:00.123456+00:00"),
        (NANOSECONDS, pa.timestamp("ns", "Europe/Berlin"), "2026-11-23T13:00:00.123456+01:00"),
        (NANOSECONDS // 10**9 * 10**9 + 7, pa.timestamp("ns"), "2026-11-23T12:00:00+00:00"),
        (43_200_000_001_001, pa.time64("ns"), "12:00:00.000001"),
        (1_500_000_000, pa.duration("ns"), 1.5),
        (1_500, pa.duration("ms"), 1.5),
    ],
    ids=str,
)
def test_nanoseconds_are_written_to_the_microsecond(documents, number, kind, value):
    assert documents(pa.array([number, None], pa.int64()).cast(kind)) == [value, None]


TIMES = {
    "timestamp": pa.array([NANOSECONDS], pa.timestamp("ns")),
    "time": pa.array([43_200_000_000_001], pa.time64("ns")),
    "duration": pa.array([1_500_000_001], pa.duration("ns")),
    "nested": pa.array([{"at": [NANOSECONDS]}], pa.struct([("at", pa.list_(pa.timestamp("ns")))])),
}


def test_features_do_not_depend_on_pandas(tmp_path):
    path = tmp_path / "x.parquet"
    parquet.write_table(pa.table(TIMES), path)
    with opened(path, mapping=EventSettings(features=("*",))) as source:
        known = list(source)
    code = (
        "import sys; sys.modules['pandas'] = None\n"
        "from service.settings.mapping import EventSettings\n"
        "from tests.service.files.opened import opened\n"
        f"print(list(opened({str(path)!r}, mapping=EventSettings(features=('*',)))))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == repr(known)


OUTSIDE = {
    "dates": pa.array([0, 10_000_000], pa.int32()).cast(pa.date32()),
    "timestamps": pa.array([0, 2**62], pa.int64()).cast(pa.timestamp("s")),
}


@pytest.mark.parametrize("name", OUTSIDE)
def test_time_outside_pythons_years_gives_one_warning(documents, name):
    said = []
    column = pa.concat_arrays([OUTSIDE[name], OUTSIDE[name]])
    known, outside, *others = documents(column, warn=lambda *words: said.append(words))
    assert known.startswith("1970-01-01")
    assert (outside, others) == (None, [known, None])
    ((oddity, hint),) = [each for each in said if "times as strings" not in each[0]]
    assert oddity.endswith("the column 'x' is omitted where it has a time outside the years 1 to 9999")
    assert hint == "to exclude it: --events-features '*' --events-exclude x"


def test_text_that_is_not_utf_8_makes_a_bad_row(tmp_path):
    path = tmp_path / "x.parquet"
    parquet.write_table(pa.table({"text": pa.array([b"good", b"\xff"]).view(pa.string())}), path)
    with open_source(str(path)) as source:
        good, bad = list(source)
    assert json.loads(good)["text"] == "good"
    assert bad.complaint == "column 'text': bytes that are not UTF-8"


@pytest.mark.parametrize(
    ("mapping", "is_bad"),
    [
        ({"features": ["*"]}, False),
        ({"features": ["n"], "text": ["blob"]}, True),
        ({"features": ["n"], "label": "blob"}, True),
        ({"features": ["n"], "id": "blob"}, True),
        (None, False),
    ],
    ids=str,
)
def test_bytes_that_are_not_text_make_bad_rows(read, mapping, is_bad):
    mapping = mapping and EventSettings(**mapping)
    (row,) = read([{"id": "a", "n": 1, "blob": b"\xff"}], mapping=mapping)
    assert isinstance(row, BadRow) == is_bad
    assert ("column 'blob': bytes that are not UTF-8" in getattr(row, "complaint", "")) == is_bad
    assert b"blob" not in row or is_bad


def test_numeric_class_name_stays_a_name(read):
    (message,) = read([{"x": 1, "label": 3}], classes=("1", "2", "3"))
    assert json.loads(message)["label"] == "3"


@pytest.mark.parametrize("name", WRITERS)
def test_file_that_is_not_a_table_is_rejected(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(b"id,text\na,win\n" * 100)
    with open_source(str(path)) as source, pytest.raises(InputFileError, match="another format"):
        list(source)


@pytest.mark.parametrize(("name", "batches"), [("x.parquet", parquet_table), ("x.feather", arrow_table)])
def test_parquet_is_not_read_from_a_pipe(tmp_path, name, batches):
    WRITERS[name](pa.Table.from_pylist(ROWS), tmp_path / name)
    with (tmp_path / name).open("rb") as file:
        file.seekable = lambda: False
        with pytest.raises(DamagedFile, match="from a pipe"):
            batches(file)


def test_missing_extra_is_named_in_the_error(monkeypatch, tmp_path):
    path = tmp_path / "x.parquet"
    path.write_bytes(b"PAR1")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with open_source(str(path)) as source, pytest.raises(ConfigurationError) as rejected:
        list(source)
    assert "online-perceptron[arrow]" in rejected.value.hint


WORDS = pa.array(["a", None, "b", "a"]).dictionary_encode()
SHARED = {
    "list": pa.ListArray.from_arrays(pa.array([0, 2, None, 4, 4]), WORDS),
    "fixed_size_list": pa.FixedSizeListArray.from_arrays(WORDS, 2),
    "map": pa.MapArray.from_arrays(
        [0, 1, 1, 3], WORDS.take(pa.array([0, 2, 3])), WORDS.take(pa.array([1, 2, 3]))
    ),
    "struct": pa.StructArray.from_arrays(
        [WORDS, pa.array([1, 2, 3, 4])], ["w", "n"], mask=pa.array([False, True, False, False])
    ),
    "nested": pa.ListArray.from_arrays([0, 1, 3], pa.ListArray.from_arrays([0, 2, 2, 4], WORDS)),
}


@pytest.mark.parametrize("name", SHARED)
def test_dictionary_columns_have_arrows_values(documents, name):
    column = SHARED[name]
    for part in (column, column.slice(1), column.slice(0, 1)):
        assert documents(part) == json.loads(json.dumps(part.to_pylist()))
