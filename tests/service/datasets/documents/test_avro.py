"""Avro container files are read block by block, and a damaged one is an error that says where."""

import io

import pytest

from service.datasets.files import open_source
from service.errors import InputFileError

fastavro = pytest.importorskip("fastavro")
FIELDS = [
    {"name": "id", "type": "string"},
    {"name": "at", "type": {"type": "long", "logicalType": "timestamp-micros"}},
    {"name": "x", "type": ["null", "double"]},
    {"name": "label", "type": "boolean"},
]
SCHEMA = {"type": "record", "name": "Event", "fields": FIELDS}
ROWS = [{"id": f"e{n}", "at": 10**15, "x": n / 2 or None, "label": n % 2 == 0} for n in range(2000)]


def container(codec="null", schema=SCHEMA, rows=ROWS):
    stream = io.BytesIO()
    fastavro.writer(stream, schema, rows, codec=codec, sync_interval=2000)
    return stream.getvalue()


@pytest.fixture
def messages(tmp_path):
    def messages(content, **options):
        path = tmp_path / "x.avro"
        path.write_bytes(content)
        with open_source(str(path), **options) as source:
            return list(source)

    return messages


@pytest.mark.parametrize("codec", ["null", "deflate", "bzip2", "xz"])
def test_records_become_events_whatever_compresses_them(messages, codec):
    found = messages(container(codec), timestamp="at")
    assert (len(found), found[2].time) == (2000, 10**12)
    assert found[2] == b'{"id":"e2","features":{"x":1.0},"label":true}'


@pytest.mark.parametrize("keep", [5, 60, 1000, -1])
def test_a_file_that_ends_too_early_is_an_error(messages, keep):
    with pytest.raises(InputFileError, match="the file is incomplete: it ends within"):
        messages(container("deflate")[:keep])


@pytest.mark.parametrize("codec", ["null", "deflate"])
def test_damaged_bytes_end_in_an_error_wherever_they_are(messages, codec):
    content = container(codec, rows=ROWS[:150])
    start = content.index(b"avro.schema") + 400
    for place in range(start, len(content), 211):
        damaged = content[:place] + bytes([content[place] ^ 0xFF]) + content[place + 1 :]
        try:
            assert len(messages(damaged)) == 150  # a value that is another one
        except InputFileError as error:
            assert "damaged" in str(error) or "incomplete" in str(error)  # noqa: PT017 - either may be


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "no Avro container"),
        (b"id,label\n", "no Avro container"),
        (container().replace(b"\x08null", b"\x08zstd", 1), "compressed by 'zstd', which is not read here"),
        (container(schema={"type": "array", "items": "int"}, rows=[[1]]), "its values are no records"),
    ],
)
def test_what_cannot_be_read_is_named(messages, content, complaint):
    with pytest.raises(InputFileError, match=complaint):
        messages(content)


def test_a_block_that_grows_without_end_is_refused(messages, monkeypatch):
    monkeypatch.setattr("service.datasets.documents.avro.MOST_BLOCK_BYTES", 10_000)
    big = [{"id": "a" * 20_000, "at": 0, "x": None, "label": True}]
    with pytest.raises(InputFileError, match="more than 10000 bytes: write smaller blocks"):
        messages(container("deflate", rows=big))
