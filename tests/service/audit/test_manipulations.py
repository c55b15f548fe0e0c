"""Streams in which somebody has moved or changed what nothing but its place or a count gives away."""

import json

import pytest

from service.audit.findings import Fault
from service.stream import Output
from tests.service.audit.audited_stream import LOG, findings, produce
from tests.service.building import event, label

OUTCOMES = [3, 5]
"""Where the outcomes of b and of c are, among seven records."""


def moved(at, to):
    """Move a record before the one that is at another place, or to the end."""

    def change(records):
        rest = [record for record in records if record.offset != at]
        return [*rest[:to], records[at], *rest[to:]]

    return change


@pytest.mark.parametrize(("at", "to"), [(at, to) for at in OUTCOMES for to in range(7) if to != at])
def test_an_outcome_moved_anywhere_is_named(stream, at, to):
    assert (Fault.OUT_OF_ORDER, f"predictions[0]@{to}", "c" if at > 3 else "b") in findings(
        stream.changed("predictions", moved(at, to))
    )


@pytest.fixture
def apart(open_stream):
    """A stream with labels on their own topic: answers a, a, b, b, c in the first batches, d, d, e later."""
    stream = open_stream(labels_topic="labels", snapshots_kept=9)
    produce(stream, event("a"), event("b"), event("c"))
    produce(stream, label("a", True), label("b", True), topic="labels")
    stream.run()
    produce(stream, event("d"), event("e"))
    produce(stream, label("d", True), topic="labels")
    return stream.run()


def test_with_labels_apart_an_outcome_moved_before_its_prediction_is_named(apart):
    assert apart.audit().is_proved
    changed = apart.changed("predictions", moved(place_of_outcome(apart, "b"), 0))
    assert (Fault.OUT_OF_ORDER, "predictions[0]@0", "b") in findings(changed)


@pytest.mark.parametrize(("outcome", "to"), [("a", 7), ("b", 7), ("a", 6)])
def test_with_labels_apart_an_outcome_moved_to_another_batch_is_named(apart, outcome, to):
    changed = apart.changed("predictions", moved(place_of_outcome(apart, outcome), to))
    assert (Fault.OUT_OF_ORDER, f"predictions[0]@{to}", outcome) in findings(changed)


def place_of_outcome(stream, event_id):
    return next(
        record.offset
        for record in stream.transport.read("predictions", 0)
        if b"predicted" in record.value and json.loads(record.value)["id"] == event_id
    )


@pytest.fixture
def two(open_stream):
    """A stream of two partitions; keys are ids, so each partition has its own predictions."""
    stream = open_stream(labels_topic="", partitions=2)
    stream.transport.ensure_topics({"events": 2})
    stream.transport.produce(
        [output(message) for n in range(8) for message in (event(f"e{n}", "win"), label(f"e{n}", n % 2 > 0))]
    )
    return stream.run()


def output(message):
    return Output("events", message["id"].encode(), json.dumps(message).encode())


@pytest.mark.parametrize("what", [b'"score"', b'"predicted"'])
def test_a_record_moved_to_another_partition_is_named(two, what):
    assert two.audit().is_proved
    for source in range(2):
        records = list(two.transport.read("predictions", source))
        at = [record for record in records if what in record.value][1]
        moved_away = two.changed_all(
            {
                ("predictions", source): lambda found, at=at: [
                    each for each in found if each.offset != at.offset
                ],
                ("predictions", 1 - source): lambda found, at=at, source=source: [
                    *found,
                    at._replace(partition=1 - source),
                ],
            }
        )
        event_id = json.loads(at.value)["id"]
        assert (Fault.WRONG, event_id) in {(fault, who) for fault, _, who in findings(moved_away)}


def with_progress(number, **fields):
    """Change one progress record: fields that are tables get other entries."""

    def change(records):
        found = [n for n, record in enumerate(records) if ("kind", b"progress") in record.headers]
        told = json.loads(records[found[number]].value)
        for name, entries in fields.items():
            told[name] |= {entry: told[name].get(entry, 0) + more for entry, more in entries.items()}
        value = json.dumps(told, separators=(",", ":")).encode()
        return [
            record._replace(value=value) if n == found[number] else record for n, record in enumerate(records)
        ]

    return change


@pytest.mark.parametrize("number", [0, 1])
@pytest.mark.parametrize(
    "fields",
    [
        {"counts": {"labelled": 1}},
        {"counts": {"labelled": -1}},
        {"counts": {"mistakes": 1}},
        {"consumed": {"events": 1}},
        {"consumed": {"events": -1}},
    ],
)
@pytest.mark.parametrize("is_apart", [False, True])
def test_a_count_changed_between_snapshots_is_named(open_stream, number, fields, is_apart):
    stream = open_stream(labels_topic="labels" if is_apart else "")
    for n in range(3):
        produce(stream, event(f"a{n}", "win"), event(f"b{n}", "lose", False), event(f"c{n}", "win", True))
        produce(stream, label(f"a{n}", n % 2 > 0), topic="labels" if is_apart else "events")
    stream.run()
    assert stream.audit().is_proved
    found = findings(stream.changed("checkpoints", with_progress(number, **fields)))
    assert {fault for fault, *_ in found} == {Fault.WRONG}
    assert all(place.startswith("checkpoints[0]@") for _, place, _ in found)


def test_a_position_in_a_foreign_topic_is_named(stream):
    changed = stream.changed("checkpoints", with_progress(1, offsets={"foreign": 7}))
    assert findings(changed) == [(Fault.WRONG, "checkpoints[0]@2", None)]


@pytest.mark.parametrize("at", [1, 2, 4, 6])
@pytest.mark.parametrize("name", ["probability", "event_time_ms"])
def test_a_field_taken_out_of_one_prediction_is_named(open_stream, at, name):
    stream = open_stream(labels_topic="", model="normalized-adagrad")
    produce(stream, *LOG)
    stream.run()
    event_id = "abcbdce"[at]
    changed = stream.changed("predictions", without_field(at, name))
    assert (Fault.WRONG, f"predictions[0]@{at}", event_id) in findings(changed)


def test_the_event_time_taken_out_of_an_outcome_is_named(stream):
    assert (Fault.WRONG, "predictions[0]@3", "b") in findings(
        stream.changed("predictions", without_field(3, "event_time_ms"))
    )


def without_field(at, name):
    def change(records):
        fields = json.loads(records[at].value)
        del fields[name]
        value = json.dumps(fields, separators=(",", ":")).encode()
        return [*records[:at], records[at]._replace(value=value), *records[at + 1 :]]

    return change


def test_a_snapshot_doubled_is_named(stream):
    found = findings(stream.changed("checkpoints", lambda records: [*records, records[-1]]))
    assert (Fault.DOUBLED, "checkpoints[0]@5", None) in found


def test_a_log_without_its_first_snapshot_is_named(stream):
    found = findings(stream.changed("checkpoints", lambda records: records[1:]))
    assert (Fault.MISSING, "checkpoints[0]@0", None) in found


def test_a_log_that_begins_with_the_batch_of_its_snapshot_is_whole(open_stream):
    stream = open_stream(labels_topic="", snapshots_kept=1, snapshot_interval_records=1)
    produce(stream, *LOG)
    stream.run()
    first, *_ = stream.transport.read("checkpoints", 0)
    assert ("kind", b"progress") in first.headers
    assert stream.audit().is_proved
