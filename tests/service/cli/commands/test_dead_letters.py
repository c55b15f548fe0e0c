"""`dead-letters` lists what was rejected, and brings back once what is accepted now."""

import base64
import json

import pytest

from service.dead_letters.replay import Redelivery
from service.errors import TransactionFailed
from service.stream.opening import open_transport
from service.stream.protocol import Output, RecordLimit
from service.stream.sqlite.consumer import SqliteWriter
from tests.service.building import event, settings
from tests.service.cli.standing_stream import produce, serve

UNKNOWN = event("u", "x", label="spam")
FIXED = ("--classes", "ham,spam")


@pytest.fixture
def stream(opened):
    return opened({"events": 1})


@pytest.fixture
def dead_letters(perceptron, broker):
    def run(command, *arguments):
        return perceptron("dead-letters", command, "--broker", broker, *arguments)

    return run


@pytest.fixture
def replay(dead_letters):
    def run(*arguments):
        result = dead_letters("replay", "--session-timeout-seconds", "1", *arguments)
        found = [line.split()[1].rstrip(":") for line in result.stdout.splitlines()]
        assert result.exit_code == ({*found} == {"rejected"}), result.stderr
        return found

    return run


def listed(dead_letters, *arguments):
    result = dead_letters("list", "--format", "json", *arguments)
    assert result.exit_code == 0, result.stderr
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_foreign_record_is_listed_as_such(dead_letters, stream):
    stream.ensure_topics({"dead-letters": 1})
    produce(stream, b"x", topic="dead-letters")
    assert "unknown         not a dead letter of this service" in dead_letters("list").stdout


def values(stream, topic, partition=0):
    return [record.value for record in stream.read(topic, partition)]


def reject(stream, *messages, **where):
    produce(stream, *messages, **where)
    serve(stream)


def test_list_shows_source_reason_and_value(dead_letters, stream):
    reject(stream, b"junk", b"\xff")
    first, second = listed(dead_letters)
    assert first == {
        "partition": 0,
        "offset": 0,
        "time": "2023-11-14T22:13:20.000Z",
        "reason": "invalid_json",
        "message": first["message"],
        "source": {"topic": "events", "partition": 0, "offset": 0},
        "key": None,
        "value": "junk",
    }
    assert base64.b64decode(second["value_base64"]) == b"\xff"
    assert "value" not in second


def test_text_list_counts_reasons_without_values(dead_letters, stream):
    reject(stream, b"junk\x1b[2J", b"more", UNKNOWN)
    result = dead_letters("list")
    assert "junk" not in result.stdout
    assert result.stdout.splitlines()[0].startswith(
        "dead-letters[0]@0  2023-11-14T22:13:20.000Z  invalid_json"
    )
    assert "events[0]@0" in result.stdout
    assert "outstanding: 3 dead letters (invalid_json 2, unknown_label 1)" in result.stderr


@pytest.mark.parametrize("digits", [19, 5000])
@pytest.mark.parametrize("name", ["source.partition", "source.offset", "source.timestamp", "source.size"])
def test_impossible_numbers_in_headers_stop_no_command(dead_letters, stream, name, digits):
    reject(stream, UNKNOWN)
    (letter,) = stream.read("dead-letters", 0)
    cut = (("error.truncated", b"true"), ("source.size", b"9")) if name == "source.size" else ()
    headers = tuple((n, b"9" * digits if n == name else value) for n, value in (*letter.headers, *cut))
    stream.produce([Output("dead-letters", b"k", letter.value, headers)])
    assert len(listed(dead_letters)) == 2
    first, second = dead_letters("replay", *FIXED).stdout.splitlines()
    assert "replayed" in first
    assert ("it was truncated to fit" in second) == bool(cut)


@pytest.mark.parametrize("command", ["list", "replay"])
def test_missing_dead_letters_topic_is_named(dead_letters, stream, command):
    result = dead_letters(command)
    assert (result.exit_code, result.stdout) == (1, "")
    assert "'dead-letters' does not exist" in result.stderr
    assert "--dead-letters-topic" in result.stderr


def test_accepted_dead_letter_is_replayed_unchanged(dead_letters, replay, stream):
    own = (("trace", b"7"), ("error.reason", b"the producer's"), ("source.system", b"crm"))
    own += (("error.truncated", b"true"), ("source.size", b"9"))
    reject(stream, UNKNOWN, headers=own)
    assert replay(*FIXED) == ["replayed"]
    _, back = stream.read("events", 0)
    assert json.loads(back.value) == UNKNOWN
    assert (back.key, back.timestamp_ms) == (b"u", 1_700_000_000_000)
    assert back.headers == (*own, ("replayed.from", b"dead-letters[0]@0"))
    assert listed(dead_letters) == []


def test_replayed_message_returns_to_its_partition(perceptron, tmp_path):
    other = f"sqlite:///{tmp_path}/other.db"
    stream = open_transport(other)
    stream.ensure_topics({"events": 3})
    for partition in (2, 1, 0):
        produce(stream, *(event(f"{partition}{n}", label="spam") for n in range(3)), partition=partition)
    serve(stream)
    assert perceptron("dead-letters", "replay", "--broker", other, *FIXED).exit_code == 0
    for partition in range(3):
        before, after = (values(stream, "events", partition)[half] for half in (slice(3), slice(3, None)))
        assert sorted(before) == sorted(after)
    stream.close()


def test_service_processes_a_replayed_message_normally(replay, stream):
    produce(stream, event("big", "x" * 200, label=True))
    serve(stream, max_message_bytes=100)
    assert replay() == ["replayed"]
    serve(stream, max_message_bytes=1000)
    (prediction,) = values(stream, "predictions")
    assert (json.loads(prediction)["id"], json.loads(prediction)["truth"]) == ("big", True)


def test_cut_dead_letter_is_marked_and_not_replayed(dead_letters, stream, monkeypatch):
    monkeypatch.setattr(stream, "record_limit", lambda _: RecordLimit(1000, 1000))
    reject(stream, event("u", "x" * 2000, label="spam"), UNKNOWN)
    cut, whole = listed(dead_letters)
    assert (cut["truncated"], cut["size"]) == (True, 2056)
    assert "truncated" not in whole
    assert "(truncated: " in dead_letters("list").stdout
    result = dead_letters("replay", "--session-timeout-seconds", "1", *FIXED)
    assert result.exit_code == 1
    assert "dead-letters[0]@0  rejected: it was truncated to fit" in result.stdout
    assert "dead-letters[0]@1  replayed to events" in result.stdout
    assert "1 replayed, 1 still rejected" in result.stderr
    assert "truncated to fit the topic: 1 of the dead letters still rejected" in result.stderr
    assert "produce the whole record again" in result.stderr
    (left,) = listed(dead_letters)
    assert (left["truncated"], left["size"]) == (True, 2056)


def test_dead_letter_still_rejected_stays_outstanding(dead_letters, replay, stream):
    reject(stream, b"junk", UNKNOWN, b"more")
    before = listed(dead_letters)
    assert replay(*FIXED) == ["rejected", "replayed", "rejected"]
    after = listed(dead_letters)
    assert [each["value"] for each in after] == ["more", "junk"]
    assert {**after[1], "offset": 0} == {**before[0], "offset": 0}
    assert replay(*FIXED) == ["rejected", "rejected"]
    assert listed(dead_letters) == after, "nothing was moved without need"


def test_small_batches_lose_and_repeat_nothing(dead_letters, replay, stream):
    reject(stream, *(event(str(n), label="spam") if n % 3 == 0 else b"junk%d" % n for n in range(20)))
    assert replay(*FIXED, "--max-batch-records", "4").count("replayed") == 7
    assert sorted(each["value"] for each in listed(dead_letters)) == sorted(
        f"junk{n}" for n in range(20) if n % 3
    )
    assert len(values(stream, "events")) == 27


def test_replay_keeps_dead_letters_of_unread_topics(dead_letters, replay, stream):
    reject(stream, b"junk")
    good = json.dumps(event("a")).encode()
    stream.produce([Output("dead-letters", None, good, (("source.topic", b"checkpoints"),), 0)])
    stream.produce([Output("dead-letters", None, good, (), 0)])
    result = dead_letters("replay")
    assert "it came from 'checkpoints', which the present settings do not read" in result.stdout
    assert "its headers do not name a source topic" in result.stdout
    assert replay() == ["rejected"] * 3


def test_message_rejected_twice_can_be_replayed_again(dead_letters, replay, stream):
    reject(stream, UNKNOWN)
    assert replay(*FIXED) == ["replayed"]
    serve(stream)  # still without the class names
    (letter,) = listed(dead_letters)
    assert letter["source"]["offset"] == 1
    assert replay(*FIXED) == ["replayed"]
    *_, back = stream.read("events", 0)
    assert back.headers == (("replayed.from", b"dead-letters[0]@1"),)


def test_crash_in_the_middle_repeats_nothing(dead_letters, replay, stream, monkeypatch):
    reject(stream, *(event(str(n), label="spam") for n in range(10)))
    commit, commits = SqliteWriter.commit, []

    def failing(self, outputs, offsets, **options):
        commits.append(len(outputs))
        if len(commits) == 3:
            raise TransactionFailed("the power is off")
        commit(self, outputs, offsets, **options)

    with monkeypatch.context() as patch:
        patch.setattr(SqliteWriter, "commit", failing)
        result = dead_letters("replay", *FIXED, "--max-batch-records", "2")
    assert (result.exit_code, len(result.stdout.splitlines())) == (1, 4)
    assert len(replay(*FIXED)) == 6
    ids = [json.loads(value)["id"] for value in values(stream, "events")]
    assert sorted(ids) == sorted(2 * [str(n) for n in range(10)])


def test_two_replays_do_not_run_at_once(dead_letters, stream, monkeypatch):
    monkeypatch.setattr("service.stream.temporary_member._PATIENCE_SECONDS", 0.1)
    reject(stream, UNKNOWN)
    first = Redelivery(stream, settings(classes="ham,spam"))
    running = first.replay()
    next(running)
    result = dead_letters("replay", *FIXED, "--session-timeout-seconds", "1")
    running.close()
    assert result.exit_code == 1
    assert "owned by another member of the group 'online-perceptron.dead-letters'" in result.stderr
    assert "other `perceptron dead-letters replay`" in result.stderr
