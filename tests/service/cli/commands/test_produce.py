"""`produce` sends good messages in order, stops at a bad one, and says what it did."""

import gzip
import json
import subprocess
import sys
import time
from contextlib import closing

import pytest

from service.errors import ServiceError
from service.stream.opening import open_transport
from tests.support.speed import patience

GOOD = b'{"id":"%s","text":"hello"}\n'


@pytest.fixture
def records(broker):
    def records(topic="events"):
        with closing(open_transport(broker)) as transport:
            partitions = range(transport.partition_count(topic))
            return [record for partition in partitions for record in transport.read(topic, partition)]

    return records


def test_each_line_becomes_a_record_keyed_by_its_id(perceptron, broker, records):
    result = perceptron("produce", "-", "--broker", broker, stdin=GOOD % b"a" + GOOD % b"b")
    assert result.exit_code == 0, result.stderr
    assert [(record.key, record.value) for record in records()] == [
        (b"a", b'{"id":"a","text":"hello"}'),
        (b"b", b'{"id":"b","text":"hello"}'),
    ]
    assert result.stdout == ""
    assert result.stderr.startswith("produced: 2 records to events in ")


def test_produce_stops_at_the_first_bad_line(perceptron, broker, records, tmp_path):
    (tmp_path / "x.ndjson").write_bytes(GOOD % b"a" + b'\n{"id":"b","text":3}\n' + GOOD % b"c")
    result = perceptron("produce", "x.ndjson", "--broker", broker)
    assert result.exit_code == 1
    assert [record.key for record in records()] == [b"a"]
    produced, error, hint = result.stderr.splitlines()
    assert produced.startswith("produced: 1 record to events")
    assert error.startswith("error: x.ndjson:3: invalid_type: text")
    assert "--no-validate" in hint


def test_stopped_produce_reports_how_to_resume(perceptron, broker, tmp_path):
    (tmp_path / "x.ndjson").write_bytes(b"\n".join([GOOD % b"a", b"", GOOD % b"b", b"bad"]))
    result = perceptron("produce", "x.ndjson", "--broker", broker)
    assert result.stderr.endswith("; to continue from there: --skip 2\n")
    again = perceptron("produce", "x.ndjson", "--broker", broker, "--skip", 1)
    assert again.stderr.endswith("; to continue from there: --skip 2\n")


def test_skipped_records_leave_the_ids_unchanged(perceptron, broker, records):
    rows = b"1\ta\nno row\n0\tb\n1\tc\n"
    result = perceptron("produce", "-", "--input-format", "tsv", "--skip", 2, "--broker", broker, stdin=rows)
    assert result.exit_code == 0, result.stderr
    assert [record.key for record in records()] == [b"row-3", b"row-4"]


def test_unvalidated_messages_are_sent_unchanged(perceptron, broker, records):
    lines = [b"not json", b"\xff", b'{"id": "a", "odd": 1}', b'{"id": 7}', b"[1]", b"[" * 100_000]
    lines.append(b'{"id":"\\ud800"}')
    result = perceptron("produce", "-", "--no-validate", "--broker", broker, stdin=b"\n".join(lines))
    assert result.exit_code == 0, result.stderr
    assert [record.value for record in records()] == lines
    assert [record.key for record in records()] == [None, None, b"a", b"7", None, None, None]


@pytest.mark.parametrize("command", [("produce", "-", "--topic"), ("consume",)])
def test_non_text_topic_name_is_rejected(perceptron, broker, command):
    result = perceptron(*command, "t\udcff", "--broker", broker, stdin=b"")
    assert result.exit_code == 2
    assert "expected text, got 't\\udcff'" in result.stderr


def test_unvalidated_record_without_time_is_sent_and_rejected_later(perceptron, broker, records):
    lines = b'{"id":"a","features":{"at":"noon"}}\n{"id":"b","features":{"at":1700000000}}\n'
    given = ("-", "--timestamp", "at", "--broker", broker)
    result = perceptron("produce", *given, stdin=lines)
    assert (result.exit_code, "--no-validate" in result.stderr) == (1, True)
    result = perceptron("produce", *given, "--no-validate", stdin=lines)
    assert result.exit_code == 0, result.stderr
    perceptron("serve", "--exit-at-end", "--http", "", "--broker", broker)
    assert [record.key for record in records("predictions")] == [b"b"]
    assert [record.key for record in records("dead-letters")] == [b"a"]


def test_times_are_read_in_their_declared_format(perceptron, broker, records):
    line = b'{"id":"a","features":{"at":"01.02.2026 00:01:43"}}\n'
    form = ("--timestamp", "at", "--events-time-format", "at=%d.%m.%Y %H:%M:%S")
    result = perceptron("produce", "-", *form, "--no-validate", "--broker", broker, stdin=line)
    assert (result.exit_code, records()[0].timestamp_ms) == (0, 1_769_904_103_000), result.stderr


def test_time_in_the_mapping_is_the_time_of_the_record(perceptron, broker, records):
    lines = b'{"id":"a","x":1,"at":1700000000}\n{"skipped":true}\n'
    mapping = ("--events-features", "x", "--events-timestamp", "at", "--events-where", "id")
    result = perceptron("produce", "-", *mapping, "--broker", broker, stdin=lines)
    assert result.exit_code == 0, result.stderr
    assert [record.timestamp_ms == 1_700_000_000_000 for record in records()] == [True, False]


def test_topic_is_created_with_its_partitions_if_allowed(perceptron, broker, records):
    rejected = perceptron("produce", "-", "--create-topics", "none", "--broker", broker, stdin=GOOD % b"a")
    assert rejected.exit_code == 1
    assert "events" in rejected.stderr
    lines = b"".join(GOOD % str(number).encode() for number in range(50))
    assert perceptron("produce", "-", "--partitions", 3, "--broker", broker, stdin=lines).exit_code == 0
    assert {record.partition for record in records()} == {0, 1, 2}


@pytest.mark.parametrize(
    ("arguments", "code", "complaint"),
    [
        (("-", "--events-id", "@key"), 2, "name it with --events-id"),
        (("-", "--events-id", "@header.trace"), 2, "name it with --events-id"),
        (("-", "--loop"), 2, "--loop needs a file"),
        (("x.ndjson", "--loop"), 1, "x.ndjson: empty"),
        (("-", "--skip", 3), 1, "stdin: --skip exceeds"),
        *(
            (("-", "--topic", topic), 2, f"'{topic}' is an output topic")
            for topic in ("predictions", "dead-letters", "checkpoints")
        ),
    ],
)
def test_unusable_input_is_rejected_with_reason(perceptron, broker, tmp_path, arguments, code, complaint):
    (tmp_path / "x.ndjson").touch()
    result = perceptron("produce", *arguments, "--broker", broker, stdin=b"")
    assert (result.exit_code, complaint in result.stderr) == (code, True)


def count_of(records):
    """Count what there is already; the stream, or its topic, may not be there yet."""
    try:
        return len(records())
    except ServiceError:
        return 0


def test_loop_renames_events_and_ends_cleanly_on_sigterm(broker, records, tmp_path):
    (tmp_path / "x.csv").write_text("n,y\n1,1\n2,0\n")
    command = [sys.executable, "-m", "service", "produce", "x.csv", "--loop", "--rate", "100"]
    command += ["--broker", broker]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as running:
        deadline = time.monotonic() + patience(60)
        while time.monotonic() < deadline and count_of(records) < 7:
            assert running.poll() is None
            time.sleep(0.1)
        running.terminate()
        _, stderr = running.communicate(timeout=patience(30))
    assert (running.returncode, stderr[:9]) == (0, "produced:")
    names = [json.loads(record.value)["id"] for record in records()]
    assert len(set(names)) == len(names) >= 7
    rows, rounds = zip(*(name.split("@") for name in names), strict=True)
    assert rows[:5] == ("row-1", "row-2", "row-1", "row-2", "row-1")
    assert [each.split("-")[1] for each in rounds[:5]] == ["1", "1", "2", "2", "3"]


@pytest.mark.parametrize("flag", ["--validate", "--no-validate"])
def test_line_over_the_limit_is_never_sent_in_part(perceptron, broker, records, tmp_path, flag):
    with gzip.open(tmp_path / "x.ndjson.gz", "wb", compresslevel=1) as file:
        file.write(GOOD % b"a" + b"x" * (20 << 20) + b"\n" + GOOD % b"c")
    result = perceptron("produce", "x.ndjson.gz", flag, "--broker", broker)
    assert result.exit_code == 1
    assert [record.key for record in records()] == [b"a"]
    assert "error: x.ndjson.gz:2: the line is longer than 16777216 bytes" in result.stderr


def test_missing_file_makes_no_topic(perceptron, broker, tmp_path):
    assert perceptron("produce", "nothing.csv", "--broker", broker).exit_code == 1
    assert not (tmp_path / "stream.db").exists()
