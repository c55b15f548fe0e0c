"""`check-input` shows what the service would make of records, and why it would reject one."""

import json

import pytest

from service.cli.commands.check_input import _last
from service.stream.protocol import Output, Record

FOREIGN = b'{"uuid":7,"mail":{"subject":"Win a prize","size":12,"to":null},"status":"spam","tags":["a"]}\n'
MAPPED = ("--events-id", "uuid", "--events-text", "mail.subject", "--events-features", "*")


def lines(result):
    return [json.loads(line) for line in result.stdout.splitlines()]


@pytest.fixture
def stream(opened):
    return opened({"events": 2, "labels": 1})


def test_shows_id_features_text_and_label_of_a_mapped_record(perceptron):
    label = ("--events-label", "status == 'spam'")
    assert lines(perceptron("check-input", "-", "--format", "json", *MAPPED, *label, stdin=FOREIGN)) == [
        {
            "position": "stdin:1",
            "kind": "event",
            "id": "7",
            "features": {"mail.size": 12.0, "tags=a": 1.0},
            "text": "Win a prize",
            "label": True,
        }
    ]


def test_repeated_notations_apply_to_each_field(perceptron):
    given = ("--events-features", "*", "--events-decimal", "a=,", "--events-decimal", "b=.")
    row = b'{"id":"a","a":"9,91","b":"1,234.50"}\n'
    (found,) = lines(perceptron("check-input", "-", "--format", "json", *given, stdin=row))
    assert found["features"] == {"a": 9.91, "b": 1234.5}


def test_shows_the_reason_of_a_dead_letter(perceptron):
    rows = b'{"id":"a","text":"x"}\n{"id":"b","text":"x","label":"spm"}\n'
    result = perceptron("check-input", "-", "--format", "json", stdin=rows)
    assert (result.exit_code, lines(result)[1]["reason"]) == (0, "unknown_label")
    assert "1 of 2 records can be read; 1 become dead letters (unknown_label 1)" in result.stderr


def test_text_form_names_positions_and_classes(perceptron):
    row = b'{"id":"a","features":{"size":2,"lang":"en"},"label":1}\n'
    assert perceptron("check-input", "-", "--classes", "ham,spam", stdin=row).stdout.splitlines() == [
        "stdin:1: event",
        "  id           a",
        '  features     size=2.0, lang="en"',
        "  label        spam",
    ]


def test_text_form_cuts_long_texts_and_many_features(perceptron):
    event = {"id": "a", "features": {str(n): n for n in range(50)}, "text": "x" * 5000}
    result = perceptron("check-input", "-", stdin=json.dumps(event).encode())
    assert result.stdout.count("…") == 2
    assert len(result.stdout) < 1000


def test_exit_code_is_1_without_readable_records(perceptron):
    result = perceptron("check-input", "-", stdin=FOREIGN * 3)
    assert result.exit_code == 1
    assert "all 3 records are rejected" in result.stderr


def test_check_input_reads_the_requested_number_of_records(perceptron):
    rows = b'{"id":"a","text":"x"}\n' * 30
    assert len(lines(perceptron("check-input", "-", "--format", "json", stdin=rows))) == 20
    assert len(lines(perceptron("check-input", "-", "--format", "json", "-n", 3, stdin=rows))) == 3


def test_newest_records_of_a_topic_are_shown(perceptron, broker, stream):
    values = [json.dumps({"id": str(n), "text": "x"}).encode() for n in range(9)]
    stream.produce(
        [
            Output("events", b"", value, partition=n % 2, timestamp_ms=1000 + n)
            for n, value in enumerate(values)
        ]
    )
    result = perceptron("check-input", "--topic", "events", "-n", 3, "--format", "json", "--broker", broker)
    assert [(line["position"], line["id"]) for line in lines(result)] == [
        ("events[0]@3", "6"),
        ("events[1]@3", "7"),
        ("events[0]@4", "8"),
    ]


def test_records_of_the_labels_topic_are_read_as_labels(perceptron, broker, stream):
    stream.produce([Output("labels", b"m-1", b'{"verdict":"spam"}')])
    mapping = ("--labels-id", "@key", "--labels-label", "verdict == 'spam'")
    result = perceptron("check-input", "--topic", "labels", "--format", "json", "--broker", broker, *mapping)
    (found,) = lines(result)
    assert (found["kind"], found["id"], found["label"]) == ("label", "m-1", True)


@pytest.mark.parametrize("arguments", [(), ("-", "--topic", "events")])
def test_file_and_topic_are_mutually_exclusive(perceptron, arguments):
    assert perceptron("check-input", *arguments, stdin=FOREIGN).exit_code == 2


class WithMarkers:
    """A partition in which ends of transactions take offsets."""

    def __init__(self, offsets, first, end):
        self._offsets, self._bounds = offsets, (first, end)

    def bounds(self, topic, partition):
        return self._bounds

    def read(self, topic, partition, start, end):
        return (Record(topic, partition, at, 0, None, b"x") for at in self._offsets if start <= at < end)


@pytest.mark.parametrize(
    ("offsets", "found"),
    [
        (range(7, 50), range(45, 50)),
        (range(7, 100, 2), range(91, 100, 2)),
        (range(7, 12), range(7, 12)),
        ([8, 99], [8, 99]),
        ([], []),
    ],
)
def test_newest_records_are_found_despite_gaps_in_offsets(offsets, found):
    newest = _last(WithMarkers(offsets, 7, 100), "events", 0, 5)
    assert [record.offset for record in newest] == list(found)


def test_id_from_the_record_is_the_line_number(perceptron):
    result = perceptron("check-input", "-", "--format", "json", "--events-id", "@key", stdin=b'{"text":"x"}')
    assert lines(result)[0]["id"] == "events-0-1"
