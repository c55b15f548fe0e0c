"""What is particular to a stream in a SQLite file: the file itself, its errors and its pages."""

from __future__ import annotations

import contextlib
import os
import resource
import shutil
import sqlite3
import stat
import subprocess
import sys
import tempfile
from itertools import product
from pathlib import Path

import pytest

from service.errors import (
    AccessDenied,
    OwnershipLost,
    StorageFull,
    TopicMissing,
    TransportError,
    TransportUnavailable,
)
from service.stream.protocol import Output
from service.stream.sqlite import SqliteTransport, database
from service.stream.sqlite.database import translated


@pytest.fixture
def path(tmp_path):
    return tmp_path / "stream.db"


@pytest.fixture
def transport(path):
    opened = SqliteTransport(path)
    opened.ensure_topics({"events": 1, "predictions": 1})
    yield opened
    opened.close()


def values(transport, topic="events"):
    return [record.value for record in transport.read(topic, 0)]


def overwrite(path, statement, *values):
    """Change the stream's file as any program can."""
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute(statement, values)
        connection.commit()


def produce_elsewhere(path, value):
    """Append an event in another process."""
    program = (
        "from service.stream.protocol import Output; from service.stream.sqlite import SqliteTransport;"
        f"t = SqliteTransport({str(path)!r}); t.ensure_topics({{'events': 1}});"
        f"t.produce([Output('events', None, {value!r})]); t.close()"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


class Alone:
    """The only member of its group, holding the only partition."""

    def __init__(self, transport):
        self.transport = transport
        self.consumer = transport.join("group", ["events"], self)
        self.consumer.poll(0, 1)

    def look_everywhere(self):
        self.consumer.take_over([0])[0]
        values(self.transport)
        self.consumer.poll(0, 1)
        self.consumer.appender(0)

    def partitions_assigned(self, partitions):
        self.consumer.start(0, {})

    def partitions_revoked(self, partitions): ...

    def partitions_lost(self, partitions): ...


# The file


def test_commit_is_on_the_disk_when_it_returns(transport):
    connection = transport._database._connection
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert connection.execute("PRAGMA synchronous").fetchone() == (2,)  # FULL


@pytest.mark.parametrize(
    ("make", "rejection"),
    [
        (lambda path: path.write_bytes(b"id,label\n" * 1000), "not a SQLite database"),
        (lambda path: overwrite(path, "CREATE TABLE songs (title TEXT)"), "another program"),
    ],
)
def test_file_of_another_kind_is_rejected_and_unchanged(path, make, rejection):
    make(path)
    before = path.read_bytes()
    with pytest.raises(TransportError, match=rf"{path}.*{rejection}") as rejected:
        SqliteTransport(path)
    assert "broker" in rejected.value.hint
    assert path.read_bytes() == before


def test_stream_of_a_newer_format_is_rejected(path, transport):
    transport.close()
    overwrite(path, "PRAGMA user_version = 2")
    with pytest.raises(TransportError, match=r"format 2, expected 1"):
        SqliteTransport(path)


def test_damaged_file_is_reported_as_damaged(path, transport):
    transport.produce([Output("events", b"key", bytes(100)) for _ in range(1000)])
    transport.close()
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * (path.stat().st_size - 4096))
    rejection = pytest.raises(TransportError, match="damaged")
    with rejection as rejected, contextlib.closing(SqliteTransport(path)) as damaged:
        values(damaged)
    assert str(path) in str(rejected.value)


@pytest.mark.parametrize(
    ("place", "rejection"),
    [("", "is a directory"), ("missing/stream.db", "the directory .*/missing does not exist")],
)
def test_impossible_file_path_is_named(tmp_path, place, rejection):
    with pytest.raises(TransportError, match=rejection) as rejected:
        SqliteTransport(tmp_path / place)
    assert "broker" in rejected.value.hint


@pytest.fixture
def unwritable():
    """Return a directory that this process may not write to, for as long as the test runs."""
    directory = Path(tempfile.mkdtemp())
    directory.chmod(0o555)
    user = os.geteuid()
    if user == 0:
        os.seteuid(65534)  # root may write everywhere
    try:
        yield directory
    finally:
        os.seteuid(user)
        shutil.rmtree(directory)


def test_directory_that_is_not_writable_is_named(unwritable):
    with pytest.raises(AccessDenied, match="must be writable") as rejected:
        SqliteTransport(unwritable / "stream.db")
    assert str(unwritable) in str(rejected.value)
    assert "broker" in rejected.value.hint


# Errors


def full(transport):
    """Let the file grow by a few pages and no more."""
    connection = transport._database._connection
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    connection.execute(f"PRAGMA max_page_count = {pages + 50}")


def test_commit_on_a_full_disk_leaves_no_trace(transport):
    member = Alone(transport)
    writer = member.consumer.writer(0)
    full(transport)
    with pytest.raises(StorageFull):
        writer.commit([Output("predictions", b"key", bytes(9000)) for _ in range(100)], {"events": 5})
    assert values(transport, "predictions") == []
    assert member.consumer.take_over([0])[0] == {}
    writer.commit([Output("predictions", b"key", b"small")], {"events": 1})
    assert values(transport, "predictions") == [b"small"]


@contextlib.contextmanager
def limited(kind, most):
    """Limit this process for the block."""
    limits = resource.getrlimit(kind)
    resource.setrlimit(kind, (most, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(kind, limits)


def test_write_beyond_the_limit_of_file_sizes_counts_as_full(transport):
    with limited(resource.RLIMIT_FSIZE, 100_000), pytest.raises(StorageFull, match="cannot write"):
        transport.produce([Output("events", None, bytes(200_000))])


def test_limit_of_open_files_is_named(path):
    free = os.dup(0)
    os.close(free)
    named = pytest.raises(TransportUnavailable, match="Too many open files")
    with limited(resource.RLIMIT_NOFILE, free + 2), named as rejected:
        SqliteTransport(path)
    assert "ulimit -n" in rejected.value.hint


def test_file_locked_for_long_is_unavailable(path, transport, monkeypatch):
    monkeypatch.setattr(database, "_BUSY_TIMEOUT_SECONDS", 0.05)
    impatient = SqliteTransport(path)
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(TransportUnavailable, match="locked") as rejected:
            impatient.produce([Output("events", b"key", b"value")])
        assert str(path) in str(rejected.value)
        assert values(impatient) == [], "readers do not wait for a writer"
        other.execute("ROLLBACK")
    impatient.produce([Output("events", b"key", b"value")])
    impatient.close()


def test_every_sqlite_error_is_translated(subtests):
    codes = {name: code for name, code in vars(sqlite3).items() if name.startswith("SQLITE_")}
    for name, code in codes.items():
        error = sqlite3.OperationalError("why")
        error.sqlite_errorcode = code & 0xFF
        with (
            subtests.test(name),
            pytest.raises(TransportError, match=r"the file.*\(why\)"),
            translated("the file"),
        ):
            raise error


def test_missing_partition_is_named(transport):
    for use in (
        lambda: transport.produce([Output("events", b"key", b"value", partition=7)]),
        lambda: transport.bounds("events", 7),
        lambda: list(transport.read("events", -1)),
    ):
        with pytest.raises(TopicMissing, match=r"events\[(7|-1)\] does not exist"):
            use()


# Pages


def test_large_records_come_in_pages_that_fit_the_memory(transport):
    transport.produce([Output("events", None, bytes([n]) * 3_000_000) for n in range(5)])
    assert [value and value[0] for value in values(transport)] == [0, 1, 2, 3, 4]
    member = Alone(transport)
    member.consumer.start(0, {})
    polled = member.consumer.poll(0, 100)[0]
    assert len(polled) < 5
    assert member.consumer.poll(0, 100)[0][0].offset == len(polled)


def test_records_deleted_during_a_read_are_skipped(transport):
    transport.produce([Output("events", None, b"%d" % n) for n in range(3000)])
    reading = transport.read("events", 0)
    assert next(reading).offset == 0
    transport.delete_before("events", 0, 2500)
    assert [record.offset for record in reading] == [*range(1, 1000), *range(2500, 3000)]


def test_former_member_cannot_read_or_commit(transport):
    member = Alone(transport)
    writer = member.consumer.writer(0)
    member.consumer.close()
    with pytest.raises(OwnershipLost):
        writer.commit([], {"events": 1})
    with pytest.raises(OwnershipLost):
        member.consumer.writer(0)
    with pytest.raises(TransportError, match="has left"):
        member.consumer.poll(0, 1)


def test_symbolic_link_to_a_stream_has_its_owner(path, transport):
    transport.produce([Output("events", None, b"a")])
    Alone(transport)
    path.with_name("link").symlink_to(path)
    linked = SqliteTransport(path.with_name("link"))
    with contextlib.closing(linked), pytest.raises(OwnershipLost):
        Alone(linked).consumer.writer(0)


def test_deleted_log_is_detected_through_a_symbolic_link(path, transport):
    transport.close()
    path.with_name("link").symlink_to(path)
    with contextlib.closing(SqliteTransport(path.with_name("link"))) as linked:
        linked.produce([Output("events", None, b"a")])
        path.with_name("stream.db-wal").unlink()
        with pytest.raises(TransportError, match=r"stream\.db-wal was deleted"):
            linked.produce([Output("events", None, b"b")])


def test_stream_with_two_names_is_rejected(path, transport):
    transport.close()
    path.with_name("twin").hardlink_to(path)
    with pytest.raises(TransportError, match="twin has other names"):
        SqliteTransport(path.with_name("twin"))


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_new_stream_is_private_to_its_owner(path, transport):
    transport.produce([Output("events", None, b"a")])
    Alone(transport)
    assert {mode(file) for file in path.parent.iterdir()} == {0o600}


def test_existing_stream_keeps_its_permissions(path, transport):
    transport.close()
    path.chmod(0o660)
    with contextlib.closing(SqliteTransport(path)) as again:
        again.produce([Output("events", None, b"a")])
        assert {mode(file) for file in path.parent.iterdir()} == {0o660}


@pytest.mark.parametrize("suffix", ["", "-wal", "-shm"])
@pytest.mark.parametrize("way", ["deleted", "replaced"])
def test_deleted_file_is_detected_before_the_next_commit(path, transport, suffix, way):
    alone = Alone(transport)
    transport.produce([Output("events", None, b"a")])
    lost = path.with_name(path.name + suffix)
    lost.rename(path.with_name("elsewhere"))
    if way == "replaced":
        shutil.copy(path.with_name("elsewhere"), lost)
    with pytest.raises(TransportError, match=f"{lost} was deleted, moved or replaced") as caught:
        transport.produce([Output("events", None, b"b")])
    assert "stop all processes" in caught.value.hint
    with pytest.raises(TransportError, match=str(lost)):
        alone.consumer.poll(2, 1)
    transport.close()


def test_commit_survives_a_writer_with_the_deleted_shm_file(path, transport):
    transport.produce([Output("events", None, b"a")])
    path.with_name("stream.db-shm").unlink()
    produce_elsewhere(path, b"b")
    with pytest.raises(TransportError, match=r"stream\.db-shm was deleted"):
        transport.produce([Output("events", None, b"c")])
    transport.close()
    query = "SELECT value FROM records"
    reader = f"import sqlite3; print(sqlite3.connect({str(path)!r}).execute({query!r}).fetchall())"
    read = subprocess.run([sys.executable, "-c", reader], check=True, capture_output=True, text=True)
    assert read.stdout.strip() == "[(b'a',), (b'b',)]"


HEADERS = [b"\xff" * 6, b"\x01\x00\x00\x00a", b"\x01\x00\x00\x00\xff" * 2, "text", 7]


@pytest.mark.parametrize(
    ("column", "cell"),
    [*product(["headers"], HEADERS), *product(["timestamp_ms", "key", "value"], ["text", 1.5])],
)
def test_damaged_cell_is_named_with_its_position(path, transport, column, cell):
    transport.produce([Output("events", b"k", b"%d" % n, (("h", b"v"),)) for n in range(3)])
    overwrite(path, f"UPDATE records SET {column} = ? WHERE value = ?", cell, b"1")
    with pytest.raises(TransportError, match=rf"events\[0\]@1: damaged {column} in ") as caught:
        values(transport)
    assert f"set `{column}` of " in caught.value.hint


@pytest.mark.parametrize("column", ["logs.first_offset", "logs.next_offset", "committed.next_offset"])
def test_text_in_a_number_column_is_damage(path, transport, column):
    alone = Alone(transport)
    writer = alone.consumer.writer(0)
    writer.commit([Output("events", None, b"x")], {"events": 0})
    table, name = column.split(".")
    overwrite(path, f"UPDATE {table} SET {name} = 'x'")
    with pytest.raises(TransportError, match=r"stream.db is damaged \(expected a whole number, got 'x'"):
        alone.look_everywhere()


def test_deleted_wal_loses_nothing_without_a_new_writer(path, transport):
    transport.produce([Output("events", None, b"a")])
    path.with_name("stream.db-wal").unlink()
    transport.close()
    with contextlib.closing(SqliteTransport(path)) as again:
        assert values(again) == [b"a"]


def test_deleted_wal_does_not_overwrite_later_commits(path, transport):
    transport.produce([Output("events", None, b"ours") for _ in range(50)])
    for suffix in ("-wal", "-shm"):
        path.with_name(f"stream.db{suffix}").unlink()
    produce_elsewhere(path, b"theirs")
    transport.close()
    with contextlib.closing(SqliteTransport(path)) as again:
        assert values(again) == [b"theirs"]
