"""Two files are merged as a service merges two topics: each in its own order, by times of what is next."""

import json

import pytest

from service.errors import InputFileError
from service.files.input_files import InputFiles, TopicFile, named_anew
from service.files.rows import rejection_of_row
from service.files.sources import Source, open_source
from service.messages.rejection import Reason, Rejection
from service.stream.batches import RecordBatch, merge_by_time
from tests.service.files.opened import opened


@pytest.fixture
def files(tmp_path):
    """Open a file of events and one of labels, with rows of these times."""

    def opened(*times):
        made = []
        for topic, each in zip(("events", "labels"), times, strict=False):
            path = tmp_path / f"{topic}.ndjson"
            path.write_text("".join(json.dumps({"id": str(n), "at": at}) + "\n" for n, at in enumerate(each)))
            made.append(TopicFile(open_source(str(path)), topic, "at"))
        return InputFiles(*made)

    return opened


def places(records):
    return [(record.topic, record.offset) for record in records]


def test_files_are_merged_by_time_events_first(files):
    with files([10, 20, 30], [20, 25]) as merged:
        assert places(merged) == [("events", 1), ("events", 2), ("labels", 1), ("labels", 2), ("events", 3)]


def test_files_may_write_their_times_differently(files):
    with files([1_700_000_000, 1_700_000_010], ["2023-11-14T22:13:25Z", 1_700_000_011_000]) as merged:
        assert [record.timestamp_ms % 1_000_000 for record in merged] == [0, 5_000, 10_000, 11_000]


def test_unordered_rows_are_processed_as_by_serve(files):
    times = [30, 10, 50, 20, 60], [25, 5, 55]
    with files(*times) as merged:
        found = list(merged)
        assert [n for _, n in merged.unsorted()] == [2, 1]
    topics = [RecordBatch([each for each in found if each.topic == topic]) for topic in ("events", "labels")]
    assert places(found) == places(merge_by_time(topics))


@pytest.mark.parametrize("time", [None, "", "soon", True, -5, "2026-01-01T00:00:00"])
def test_row_without_a_time_is_an_untimed_row(files, time):
    with files([1, time, 3]) as merged:
        first, second, third = merged
    assert [first.timestamp_ms, second.timestamp_ms, third.timestamp_ms] == [1000, -1, 3000]
    untimed = rejection_of_row(second.value, Rejection(Reason.EVENT_TIME_OUT_OF_RANGE, "other"))
    assert untimed.message.startswith("at: ")
    another = Rejection(Reason.INVALID_JSON, "other")
    assert rejection_of_row(second.value, another) is another


def test_untimed_bad_row_is_rejected_as_bad_row(tmp_path):
    (tmp_path / "x.csv").write_text("id,at,text\na,7,x\nb\n")
    with InputFiles(TopicFile(opened(tmp_path / "x.csv", time="at"), "events", "at")) as rows:
        _, bad = rows
    assert (bad.timestamp_ms, bad.value.complaint) == (7000, "expected 3 cells, got 1")


def test_all_files_are_closed_if_closing_one_fails(files, monkeypatch):
    closed, close = [], Source.close

    def failing(self):
        close(self)
        closed.append(self.name)
        raise OSError("stale file handle")

    monkeypatch.setattr(Source, "close", failing)
    with pytest.raises(OSError, match="stale"), files([1], [2]):
        pass
    assert len(closed) == 2


def test_file_without_a_record_is_named(files):
    with files([1], []) as merged, pytest.raises(InputFileError, match="empty"):
        list(merged)


@pytest.mark.parametrize("name", ["rows.csv", "rows.parquet"])
def test_column_of_times_is_not_a_feature(tmp_path, name):
    columns = {"id": ["a"], "at": ["2026-01-01T00:00:00Z"], "x": [1.5]}
    path = tmp_path / name
    if name.endswith("csv"):
        path.write_text("id,at,x\na,2026-01-01T00:00:00Z,1.5\n")
    else:
        pa = pytest.importorskip("pyarrow")
        pytest.importorskip("pyarrow.parquet").write_table(pa.table(columns), path)
    source = opened(path, time="at")
    with InputFiles(TopicFile(source, "events", "at")) as files:
        (record,) = files
    assert (record.timestamp_ms, record.value) == (1767225600000, b'{"id":"a","features":{"x":1.5}}')


@pytest.mark.parametrize(
    ("header", "missing"), [("id,verdict", "labels: no column found"), ("label,x", "ids: no column found")]
)
def test_labels_need_ids_and_labels(tmp_path, header, missing):
    path = tmp_path / "labels.csv"
    path.write_text(f"{header}\na,b\n")
    with opened(path, are_labels=True) as source, pytest.raises(InputFileError, match=missing):
        list(source)


FOREIGN = [b"not json", b"\xff", b"[1]", b"3", b"{}", b"[" * 100_000]


@pytest.mark.parametrize("message", FOREIGN)
def test_non_message_value_gets_no_suffix(message):
    assert named_anew(message, ["id"], "@1") == message
    assert named_anew(message, ["order", "id"], "@1") == message


def test_suffix_is_appended_to_the_id_only():
    message = b'{"id":"a","features":{"id":2,"x":0.1},"label":1}'
    assert named_anew(message, ["id"], "@7") == b'{"id":"a@7","features":{"id":2,"x":0.1},"label":1}'
