"""Commands that read events take the same mapping, windows included, as the service."""

import json
import subprocess
import sys
import time
from collections import Counter

import pytest

from service.stream.opening import open_transport
from service.stream.protocol import Output
from tests.service.cli.standing_stream import serve
from tests.support.foreign_events import corpus, foreign


@pytest.mark.parametrize("place", ["uuid", "@key", "@header.trace", "@offset"])
def test_unmapped_records_are_replayed_after_a_fix(perceptron, broker, place):
    transport = open_transport(broker)
    transport.ensure_topics({"events": 1})
    value = json.dumps({"uuid": 7, "text": "win", "label": True}).encode()
    transport.produce([Output("events", b"k", value, (("trace", b"t"),), 0, 1_700_000_000_000)])
    serve(transport)
    run = perceptron("dead-letters", "replay", "--broker", broker, "--session-timeout-seconds", "1")
    assert "0 replayed" in run.stdout + run.stderr
    run = perceptron(
        *("dead-letters", "replay", "--session-timeout-seconds", "1", "--broker", broker),
        *("--events-id", place, "--events-unknown-fields", "ignore"),
    )
    assert run.exit_code == 0, run.stderr
    assert "1 replayed" in run.stderr
    transport.close()


def test_produce_checks_and_keys_nested_records(perceptron, broker):
    lines = foreign(7, "win now", True) + b"\n"
    mapping = ("--events-id", "meta.number", "--events-text", "mail.body", "--events-label", "review.verdict")
    sent = perceptron("produce", "-", "--broker", broker, "--classes", "no,yes", *mapping, stdin=lines)
    assert sent.exit_code == 0, sent.stderr
    rejected = perceptron("produce", "-", "--broker", broker, *mapping, stdin=lines)
    assert rejected.exit_code == 1
    assert "review.verdict (events.label): unknown label 'yes'" in rejected.stderr
    unchecked = perceptron("produce", "-", "--broker", broker, "--no-validate", *mapping, stdin=lines)
    assert unchecked.exit_code == 0, unchecked.stderr
    transport = open_transport(broker)
    assert Counter(record.key for record in transport.read("events", 0)) == {b"7": 2}
    transport.close()


@pytest.mark.parametrize("command", [("replay",), ("compare",), ("train",), ("check-input",), ("produce",)])
@pytest.mark.parametrize("record", [b'{"n": 1}\n', b'{"n": 1, "a": 5}\n'])
def test_hint_names_the_mapping_where_there_is_one(perceptron, broker, command, record):
    at = ("--broker", broker) if command[0] == "produce" else ()
    result = perceptron(*command, "-", "--events-id", "n", "--events-features", "a", *at, stdin=record)
    hints = [line for line in result.stderr.splitlines() if line.startswith("hint: ")]
    assert all("--events-" in hint and "schema event" not in hint for hint in hints)
    assert hints or b"a" in record


def test_rows_of_a_tsv_file_are_not_mapped(perceptron, tmp_path):
    (tmp_path / "x.tsv").write_text("true\twin\n")
    rejected = perceptron("replay", "x.tsv", "--events-id", "id")
    assert rejected.exit_code == 2
    assert "cannot map tsv, whose rows are native events" in rejected.stderr


def test_model_file_carries_its_mapping(perceptron, tmp_path):
    (tmp_path / "x.jsonl").write_bytes(
        b"".join(foreign(n, *each) + b"\n" for n, each in enumerate(corpus(), 1))
    )
    mapping = ("--events-id", "meta.number", "--events-text", "mail.body", "--events-label", "review.verdict")
    trained = perceptron("train", "x.jsonl", "--classes", "no,yes", *mapping, "--save", "m.bin")
    assert trained.exit_code == 0, trained.stderr
    tested = perceptron("test", "m.bin", "x.jsonl")
    assert tested.exit_code == 0, tested.stderr
    rejected = perceptron("test", "m.bin", "x.jsonl", "--events-text", "mail.subject")
    assert "events.text: expected mail.body as in m.bin" in rejected.stderr
    elsewhere = perceptron("test", "m.bin", "x.jsonl", "--events-id", "@offset")
    assert elsewhere.exit_code == 0, elsewhere.stderr


WINDOWS = json.dumps(
    [{"by": "card", "over": ["10m", "1h"], "of": {"amount": "sum,mean", "@event": "count", "@label": "rate"}}]
)
EVENTS = ("--events-timestamp", "at", "--events-features", "amount", "--events-windows", WINDOWS)


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "events.ndjson"
    with path.open("w") as written:
        for n in range(400):
            event = {"id": f"e{n}", "card": f"c{n * n % 7}", "amount": n % 13 / 4, "label": n * n % 5 < 2}
            print(json.dumps({**event, "at": 1_700_000_000 + 97 * n - n % 3 * 400}), file=written)
    return path


def test_replay_and_serve_give_the_same_proved_model(perceptron, broker, file, tmp_path):
    def run(*arguments):
        result = perceptron(*arguments)
        assert result.exit_code == 0, result.stderr
        return result.stdout

    stream = ("--broker", broker)
    run("replay", file, *EVENTS, "--save", "replayed.model")
    run("produce", file, *stream, "--events-timestamp", "at", "--events-features", "amount")
    run("serve", "--exit-at-end", "--http", "", *stream, *EVENTS)
    run("checkpoint", "export", "served.model", "--partition", 0, *stream, *EVENTS)
    assert "proved" in run("verify", *stream, *EVENTS)
    shown = [
        json.loads(run("inspect", tmp_path / f"{each}.model", "--format", "json"))
        for each in ("replayed", "served")
    ]
    assert shown[0]["weights"] == shown[1]["weights"]
    assert "label_rate_1h_by_card" in json.dumps(shown[0])


def test_untimed_file_or_unlabelled_stream_is_rejected(perceptron, file):
    for command in ("replay", "compare"):
        rejected = perceptron(command, file, *EVENTS[2:])
        assert rejected.exit_code == 2
        assert "expected event times in the file" in rejected.stderr
    rejected = perceptron("train", file, "--save", "m", *EVENTS)
    assert rejected.exit_code == 2
    assert "process the file as a stream: `perceptron replay`" in " ".join(rejected.stderr.split())


@pytest.mark.parametrize("number", [7, "m-7"])
def test_looped_mapped_records_get_new_ids_and_keys(broker, tmp_path, number):
    (tmp_path / "x.ndjson").write_bytes(foreign(number, "win now", True) + b"\n")
    command = [sys.executable, "-m", "service", "produce", "x.ndjson", "--loop", "--rate", "50"]
    command += ["--broker", broker, "--events-id", "meta.number", "--events-text", "mail.body"]
    transport = open_transport(broker)
    transport.ensure_topics({"events": 1})
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.DEVNULL) as running:
        while transport.bounds("events", 0)[1] < 3:
            assert running.poll() is None
            time.sleep(0.1)
        running.terminate()
    records = [*transport.read("events", 0)]
    ids = [json.loads(record.value)["meta"]["number"] for record in records]
    assert len({*ids}) == len(ids) >= 3
    assert all(each.startswith(f"{number}@") for each in ids)
    assert [record.key.decode() for record in records] == ids
    transport.close()


def test_ids_from_expressions_cannot_be_renewed(perceptron, broker, tmp_path):
    (tmp_path / "x.ndjson").write_bytes(foreign(7, "win now", True) + b"\n")
    place = ("--events-id", "to_string(meta.number)", "--events-text", "mail.body")
    rejected = perceptron("produce", "x.ndjson", "--loop", "--broker", broker, *place)
    assert rejected.exit_code == 2
    assert "to_string(meta.number) is an expression" in rejected.stderr
