"""Every format becomes messages; no bad row is lost, changed or fatal."""

import gzip
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from service.errors import InputFileError
from service.files import rows, text_files
from service.files.sources import FORMATS, open_source
from service.settings.mapping import EventSettings

REFERENCE = Path(__file__).parents[3] / "docs" / "reference" / "file-formats.md"


@pytest.fixture
def events(messages):
    return lambda name, content, **options: [json.loads(m) for m in messages(name, content, **options)]


@pytest.mark.parametrize("form", FORMATS.values(), ids=str)
def test_each_format_is_documented_with_its_extensions(form):
    extensions = ", ".join(f"`{each}`" for each in form.extensions)
    assert f"\n| `{form}` | {extensions} | " in REFERENCE.read_text(encoding="utf-8")


def test_ndjson_passes_through_byte_for_byte(messages):
    content = b'{"id":  "\xc3\xa9"}\r\n\n  \nnot json\xff\n{"id":1}'
    assert messages("x.ndjson", content) == [b'{"id":  "\xc3\xa9"}\r', b"not json\xff", b'{"id":1}']


def test_byte_order_mark_is_skipped(messages):
    assert messages("x.jsonl", b"\xef\xbb\xbf{}\n\xef\xbb\xbf{}") == [b"{}", b"\xef\xbb\xbf{}"]


MAPPED = EventSettings(id="order", text=("note",), label="state", features=("*",))
EVENTS = {
    "TSV is never quoted": (
        "x.tsv",
        'ham\tHe said "hi\n\nspam\t"a"\tb \r\n\tno label\n',
        {},
        [
            {"id": "row-1", "text": 'He said "hi', "label": "ham"},
            {"id": "row-2", "text": '"a"\tb ', "label": "spam"},
            {"id": "row-3", "text": "no label"},
        ],
    ),
    "LIBSVM": (
        "x.libsvm",
        "+1 3:1 11:0.5 # note\n-1 7:-2e3\n0 1:1\n1\n2:1\n",
        {},
        [
            {"id": "row-1", "features": {"3": 1, "11": 0.5}, "label": 1},
            {"id": "row-2", "features": {"7": -2000}, "label": -1},
            {"id": "row-3", "features": {"1": 1}, "label": 0},
            {"id": "row-4", "features": {}, "label": 1},
            {"id": "row-5", "features": {"2": 1}},
        ],
    ),
    "cells of CSV": (
        "x.csv",
        'id,age,rate,urgent,lang,text,label\nm-1,7,2.50,TRUE,en,"Hi, you\nthere",spam\n,,1e3,no,1_0,,\n',
        {},
        [
            {
                "id": "m-1",
                "features": {"age": 7, "rate": 2.5, "urgent": True, "lang": "en"},
                "text": "Hi, you\nthere",
                "label": "spam",
            },
            {"id": "row-2", "features": {"rate": 1000, "urgent": "no", "lang": "1_0"}, "text": ""},
        ],
    ),
    **{
        f"the label in {column}": (
            "x.csv",
            f"a,{column}\n1,-1\n",
            {},
            [{"id": "row-1", "features": {"a": 1}, "label": -1}],
        )
        for column in ("label", "class", "target", "y")
    },
    "a label that is named, another delimiter, blank lines": (
        "x.csv",
        '\n\nid;label;text;kind\nk;5;"win; ""now""";spam\n',
        {"label": "kind", "delimiter": ";"},
        [{"id": "k", "features": {"label": 5}, "text": 'win; "now"', "label": "spam"}],
    ),
    "a document": (
        "x.csv",
        "order,note,state,total,empty\n007,12,1,9.50,\n",
        {"mapping": MAPPED, "classes": ("0", "1")},
        [{"order": "007", "note": "12", "state": "1", "total": 9.5}],
    ),
    "a document without an id": (
        "x.csv",
        "total\n9\n",
        {"mapping": EventSettings(features=("*",))},
        [{"id": "row-1", "total": 9}],
    ),
    "class names that are numbers": (
        "x.tsv",
        "0\ta\n5\tb\ntrue\tc\n",
        {"classes": ["0", "5", "6"], "id_prefix": "may-"},
        [
            {"id": "may-1", "text": "a", "label": "0"},
            {"id": "may-2", "text": "b", "label": "5"},
            {"id": "may-3", "text": "c", "label": True},
        ],
    ),
    "ids after a prefix": ("x.csv", "a\n1\n", {"id_prefix": "may-"}, [{"id": "may-1", "features": {"a": 1}}]),
    "gzip in two parts": (
        "x.tsv.gz",
        gzip.compress(b"\ta\n") + gzip.compress(b"\tb\n"),
        {},
        [{"id": "row-1", "text": "a"}, {"id": "row-2", "text": "b"}],
    ),
}


@pytest.mark.parametrize("case", EVENTS)
def test_rows_of_each_format_are_read_as_events(events, case):
    name, content, options, expected = EVENTS[case]
    assert events(name, content, **options) == expected


BAD = {
    "no tab": ("x.txt", b"no tab here", b"1\tx", "expected a tab between label and text"),
    "a text that is not UTF-8": ("x.tsv", b"1\tnot utf-8 \xff", b"1\tx", "codec can't decode"),
    "an index that is not a number": ("x.svm", b"1 a:1", b"1 4:1", "expected different numbers as indices"),
    "an index twice": ("x.svm", b"1 1:1 1:2", b"1 4:1", "expected different numbers as indices"),
    "a value that is not a number": ("x.svm", b"1 3:many", b"1 4:1", "index 3: 'many' is not a number"),
    "no value": ("x.svm", b"1 1", b"1 4:1", "index 1: '' is not a number"),
    "a value that is not UTF-8": ("x.svm", b"1 1:1\xff", b"1 4:1", "codec can't decode"),
    "too many cells": ("x.csv", b"1,2,3", b"4,1", "expected 2 cells, got 3"),
    "too few cells": ("x.csv", b"1", b"4,1", "expected 2 cells, got 1"),
    "a cell that is not UTF-8": ("x.csv", b"\xff,1", b"4,1", "column 'a' is not UTF-8"),
    "too many cells in two lines": (
        "x.csv",
        b'"1\n2",3,4',
        b"4,1",
        "expected 2 cells, got 3 in a row of 2 lines: check for an unclosed quote",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_row_keeps_its_bytes_and_error(messages, case):
    name, row, good, complaint = BAD[case]
    header = b"a,y\n" if name == "x.csv" else b""
    bad, second = messages(name, header + row + b"\n" + good + b"\n")
    assert bad == row
    assert complaint in bad.complaint
    assert json.loads(second)["id"] == "row-2"


def test_row_after_an_open_quote_has_its_own_line(tmp_path):
    path = tmp_path / "x.csv"
    path.write_bytes(b'text,y\n"win,1\nlose,0\nwin,1')
    with open_source(str(path)) as source:
        found = [(source.line, getattr(row, "complaint", "")) for row in source]
    assert found == [(2, "the quote that opens in line 2, column 'text', is not closed"), (3, ""), (4, "")]


def test_quoted_cell_over_many_lines_is_bounded(messages):
    found = messages("x.csv", b'a,y\n"open,1\n' + b"4,1\n" * 1000 + b'"5",1\n', max_message_bytes=1000)
    assert found[0].complaint == "the quote that opens in line 2, column 'a', is not closed"
    assert json.loads(found[-1])["features"] == {"a": 5}
    assert len(found) == 1002


def test_file_of_open_quotes_is_read_in_bounded_time(messages, monkeypatch):
    monkeypatch.setattr(text_files, "_MAX_READ_AGAIN_BYTES", 10_000)
    first, *_, last = messages("x.csv", b"a,y\n" + b'x","\n' * 2000)
    assert first == b'x","'
    assert last.endswith(b'x","\nx","')


@pytest.mark.parametrize("quote", ["", '"'])
def test_too_long_cell_makes_a_bad_row(messages, quote):
    cell = quote + "x" * 2000 + quote
    bad, good = messages("x.csv", f"text,y\n{cell},1\nwin,1\n", max_message_bytes=1000)
    assert bad.complaint == "column 'text': 2000 characters; max_message_bytes is 1000"
    assert json.loads(good)["text"] == "win"


def test_numbers_that_are_not_finite_reach_the_decoder(messages):
    assert messages("x.csv", "a,y\nnan,1\n1e999,1\n") == [
        b'{"id":"row-1","features":{"a":NaN},"label":1}',
        b'{"id":"row-2","features":{"a":Infinity},"label":1}',
    ]


@pytest.mark.parametrize(
    ("content", "options", "said", "hint"),
    [
        (b"", {}, "no header", "must name its columns"),
        (b"a,,y\n", {}, "column 2 has no name", "name it"),
        (b"id,id,y\n", {}, "two columns are named 'id'", "rename one of them"),
        (b"1,1,0\n", {}, "two columns are named '1'", "insert a line before it"),
        (b"a,b\n", {"label": "c"}, "unknown column 'c'", "a, b"),
        ("größe,label\n".encode("latin-1"), {}, "the header row is not UTF-8", "iconv"),
        ("größe,label\n".encode("utf-16-le"), {}, "the header row is not UTF-8", "iconv"),
        (b"x" * (rows.MAX_LINE_BYTES + 5), {}, "no header row", "must name its columns"),
        (b'"' + b"x" * 200_000, {}, "no header row", "must name its columns"),
    ],
    ids=range(9),
)
def test_invalid_header_is_an_error_at_line_1(messages, content, options, said, hint):
    with pytest.raises(InputFileError, match=rf"x\.csv:1: .*{said}") as rejected:
        messages("x.csv", content, **options)
    assert hint in rejected.value.hint


@pytest.mark.parametrize(
    ("header", "is_odd"),
    [
        ("5.1,3.5,0", True),
        ("5.1,3.5,1.4,0.2,setosa", True),
        ("1100.5,1102.5,label", False),
        ("5.1,red,blue", False),
        ("0,1,2", False),
        ("1,2,3,species", False),
    ],
)
def test_numeric_first_line_gives_a_warning(messages, header, is_odd):
    said = []
    messages("x.csv", f"{header}\n{header}\n", warn=lambda *words: said.append(words))
    assert [hint for _, hint in said] == [text_files.HEADER_HINT] * is_odd


TELLS = "if it determines the label, exclude it: --events-features '*' --events-exclude"


@pytest.mark.parametrize(
    ("header", "options", "hints"),
    [
        ("a,Label", {}, ["if it is not a feature: --label-column 'Label'"]),
        ("y,ID", {}, ["if it is not a feature: --events-id 'ID'"]),
        ("a,Label,target", {}, [f"{TELLS} Label --events-label target"]),
        ("y,label", {}, [f"{TELLS} y"]),
        ("x,y,label", {}, []),
        ("a,Label", {"label": "Label"}, []),
    ],
)
def test_feature_named_like_a_label_gives_a_warning(messages, header, options, hints):
    said = []
    messages("x.csv", f"{header}\n", warn=lambda *words: said.append(words), **options)
    assert [hint for _, hint in said] == hints


def test_error_is_short_for_any_row_length(messages):
    (row,) = messages("x.svm", b"1 3:" + b"x" * 100_000 + b"\n")
    assert len(row.complaint) <= 200


@pytest.mark.parametrize("content", [b"no gzip", gzip.compress(os.urandom(10_000))[:5000]])
def test_bad_gzip_is_an_error_with_a_hint(messages, content):
    with pytest.raises(InputFileError, match="bad gzip data after line") as caught:
        messages("x.tsv.gz", content)
    assert "gzip --test" in caught.value.hint


def test_unknown_extension_needs_a_format(tmp_path):
    (tmp_path / "x.dat").touch()
    with pytest.raises(InputFileError, match=r"unknown extension \.dat") as caught:
        open_source(str(tmp_path / "x.dat"))
    assert "--input-format" in caught.value.hint


def test_missing_file_names_a_similar_one(tmp_path):
    (tmp_path / "events.csv").touch()
    with pytest.raises(InputFileError, match="no such file") as caught:
        open_source(str(tmp_path / "event.csv"))
    assert caught.value.hint == f"did you mean {tmp_path / 'events.csv'}?"


def test_broken_link_is_an_error_naming_its_target(tmp_path):
    (tmp_path / "x.csv").symlink_to("nowhere.csv")
    with pytest.raises(InputFileError, match=r"x\.csv: a link to nowhere\.csv, which does not exist"):
        open_source(str(tmp_path / "x.csv"))


@pytest.mark.parametrize(
    ("content", "known"),
    [(gzip.compress(b"a,y\n"), "gzip"), (b"PAR1\x15\0", "Parquet"), (b"ARROW1\0\0", "Arrow")],
    ids=["gzip", "parquet", "arrow"],
)
@pytest.mark.parametrize("name", ["x.csv", "x.ndjson", "x.tsv"])
def test_binary_content_is_recognised_by_its_first_bytes(messages, name, content, known):
    with pytest.raises(InputFileError, match=f"expected .*, got {known}"):
        messages(name, content)


@pytest.mark.parametrize("sign", [",", ";", "\t", "|"])
def test_delimiter_of_a_csv_file_follows_from_its_first_line(messages, sign):
    (row,) = messages("x.csv", f'"a;,|\t;,|\t"{sign}b{sign}y\n1{sign}2{sign}3\n')
    assert [*json.loads(row)["features"].values()] == [1, 2]


def test_csv_file_of_one_column_has_no_delimiter(messages):
    assert json.loads(*messages("x.csv", "a\n1\n"))["features"] == {"a": 1}


def test_directory_is_an_error(tmp_path):
    with pytest.raises(InputFileError, match="is a directory"):
        open_source(str(tmp_path), "csv")


def test_location_of_a_message_is_its_line(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text('a\n1\n\n"2\n3"\n')
    with open_source(str(path)) as source:
        assert [source.location for _ in source] == [f"{path}:2", f"{path}:5"]


def test_stdin_is_ndjson_and_stays_open(monkeypatch):
    stdin = io.BytesIO(b"{}\n")
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=stdin))
    with open_source("-") as source:
        assert list(source) == [b"{}"]
        assert not source.has_end
        assert source.location == "stdin:1"
    assert not stdin.closed


def test_pipe_is_announced_before_reading_blocks(tmp_path):
    reading, writing = os.pipe()
    calls = []
    os.write(writing, b'{"id":"a"}\n')

    def wait():
        calls.append(len(seen))
        if len(calls) == 2:
            os.write(writing, b'{"id":"b"}\n')
            os.close(writing)

    seen = []
    with open_source(f"/dev/fd/{reading}", "ndjson") as source:
        source.before_wait(wait)
        for number, message in enumerate(source):
            seen.insert(number, message)
    os.close(reading)
    assert seen == [b'{"id":"a"}', b'{"id":"b"}']
    assert calls[:2] == [0, 1]


LONG = b"x" * (rows.MAX_LINE_BYTES + 5)


@pytest.mark.parametrize("name", ["x.ndjson", "x.tsv", "x.libsvm", "x.csv"])
@pytest.mark.parametrize("long", [LONG, b"1\t" + LONG, b'1,"' + LONG], ids=["plain", "tab", "quote"])
def test_line_over_the_limit_is_cut(messages, name, long):
    good = {"x.ndjson": b'{"id":"a"}', "x.tsv": b"1\tgood", "x.libsvm": b"1 1:1", "x.csv": b"1,2"}[name]
    header = b"label,a\n" if name == "x.csv" else b""
    first, second = messages(name, header + long + b"\n" + good + b"\n")
    assert first == long[: rows.MAX_LINE_BYTES + 1]
    assert isinstance(first, rows.CutLine)
    assert not isinstance(second, rows.CutLine)


def test_gzipped_line_of_a_quarter_gibibyte_takes_little_memory(tmp_path):
    path = tmp_path / "x.ndjson.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        for _ in range(256):
            file.write(b" " * (1 << 20))
        file.write(b"\n{}\n")
    read = f"""
import resource
from service.files.sources import FORMATS, open_source
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
with open_source({str(path)!r}) as source:
    assert [len(message) for message in source] == [(16 << 20) + 1, 2]
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""
    printed = subprocess.run([sys.executable, "-c", read], capture_output=True, text=True, check=True).stdout
    assert int(printed) < 100
