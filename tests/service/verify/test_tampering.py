"""Whatever is done to what the service has written is found, and the record named that has it."""

import json

import pytest

from service.errors import CheckpointError, SettingsDiffer
from service.stream.protocol import Output
from tests.service.building import event
from tests.service.verify.verified_stream import (
    again,
    moved,
    replaced,
    with_fields,
    with_headers,
    with_progress,
    without,
)

E, P, D, C = "events", "predictions", "dead-letters", "checkpoints"
FOREIGN = b'{"id":"x","label":true,"score":0.0,"updates":0,"event_time_ms":5}'


def more(topic, key, value, headers=()):
    """Append a record."""
    return lambda records: [*records, records[0]._replace(key=key, value=value, headers=headers)]


def told(name, value):
    """Change what the first dead letter tells."""
    return with_headers(0, **{name: value})


def byte(old, new):
    return lambda value: value.replace(old, new, 1)


def kind(name, number, change):
    """Apply a change to the place of a record of the checkpoints of a kind."""

    def changed(records):
        places = [n for n, record in enumerate(records) if ("kind", name) in record.headers]
        return change(places[number])(records)

    return changed


def progress(number, change):
    return kind(b"progress", number, change)


TAMPERINGS = {
    # predictions: a 0, b 1, c 2, outcome of b 3, d 4, outcome of c 5, e 6
    "a prediction lost": (P, without(2), ("missing", E, 3, "c")),
    "the last prediction lost": (P, without(6), ("missing", E, 8, "e")),
    "a prediction doubled": (P, again(1), ("duplicate", P, 7, "b")),
    "two predictions swapped": (P, moved(0, 2), ("out of order", P, 2, "a")),
    "a foreign prediction": (P, more(P, b"x", FOREIGN), ("unexpected", P, 7, "x")),
    "no prediction at all": (P, more(P, b"x", b"x"), ("unexpected", P, 7, None)),
    "another id": (P, with_fields(2, id="y"), ("missing", E, 3, "c")),
    "another key": (P, replaced(2, key=b"y"), ("wrong", P, 2, "c")),
    "another label": (P, with_fields(1, label=False), ("wrong", P, 3, "b")),
    "a label that is not a class": (P, with_fields(1, label="x"), ("wrong", P, 1, "b")),
    "another truth": (P, with_fields(4, truth=True, label=True), ("wrong", P, 4, "d")),
    "a wrong mistake": (P, with_fields(4, mistake=True), ("wrong", P, 4, "d")),
    "a mistake hidden": (P, with_fields(0, label=True, mistake=False), ("wrong", C, 1, None)),
    "another event time": (P, with_fields(1, event_time_ms=5), ("wrong", P, 1, "b")),
    "no event time": (P, with_fields(1, event_time_ms=None), ("wrong", P, 1, "b")),
    "a score that is none": (P, with_fields(1, score=float("nan")), ("wrong", P, 1, "b")),
    "updates below 0": (P, with_fields(1, updates=-1), ("wrong", P, 1, "b")),
    "an unknown field": (P, with_fields(1, more=1), ("wrong", P, 1, "b")),
    "a field twice": (P, replaced(1, value=byte(b"{", b'{"id":"x",')), ("wrong", P, 1, "b")),
    "a foreign header": (P, replaced(1, headers=(("h", b"1"),)), ("wrong", P, 1, "b")),
    "an outcome lost": (P, without(5), ("missing", E, 6, "c")),
    "an outcome doubled": (P, again(3), ("duplicate", P, 7, "b")),
    "an outcome before its prediction": (P, moved(5, 0), ("out of order", P, 0, "c")),
    "an outcome too early": (P, moved(5, 3), ("out of order", P, 4, "b")),
    "an outcome too late": (P, moved(3, 6), ("out of order", P, 6, "b")),
    "another true label": (P, with_fields(5, label=False, mistake=False), ("wrong", P, 5, "c")),
    "another predicted": (P, with_fields(5, predicted=False, mistake=True), ("wrong", P, 5, "c")),
    "another delay": (P, with_fields(5, label_delay_seconds=7.5), ("wrong", P, 5, "c")),
    "a mistake of 1": (P, with_fields(5, mistake=1), ("wrong", P, 5, "c")),
    "an outcome of nothing": (P, with_fields(5, id="y"), ("unexpected", P, 5, "y")),
    "a dead letter lost": (D, without(1), ("missing", E, 7, None)),
    "a dead letter doubled": (D, again(0), ("duplicate", D, 2, None)),
    "dead letters swapped": (D, moved(1, 0), ("out of order", D, 1, None)),
    "another reason": (D, told("error.reason", b"empty"), ("wrong", D, 0, None)),
    "a dead letter's source": (D, told("source.offset", b"1"), ("missing", E, 2, None)),
    "a dead letter's topic": (D, told("source.topic", b"other"), ("unexpected", D, 0, None)),
    "a partition beyond 64 bits": (D, told("source.partition", b"9" * 20), ("unexpected", D, 0, None)),
    "a time of 5,000 digits": (D, told("source.timestamp", b"9" * 5000), ("wrong", D, 0, None)),
    "no source": (D, told("source.offset", b""), ("unexpected", D, 0, None)),
    "a dead letter's time": (D, told("source.timestamp", b"5"), ("wrong", D, 0, None)),
    "a dead letter's value": (D, replaced(0, value=b"other"), ("wrong", D, 0, None)),
    "a dead letter's key": (D, replaced(0, key=b"other"), ("wrong", D, 0, None)),
    # checkpoints: a snapshot, the progress of three batches, a snapshot
    "a gap in progress": (C, progress(1, without), ("missing", C, 2, None)),
    "the last progress lost": (C, lambda records: records[:-2], ("wrong", C, None, None)),
    "no progress": (
        C,
        lambda all_: [each for each in all_ if ("kind", b"progress") not in each.headers],
        ("missing", C, 1, None),
    ),
    "progress twice": (C, progress(1, again), ("duplicate", C, 5, None)),
    "overlapping progress": (C, with_progress(1, offsets={"events": -4}), ("wrong", C, 2, None)),
    "a batch renumbered": (C, with_progress(1, sequence=1), ("duplicate", C, 2, None)),
    "no time of a batch": (C, with_progress(1, processing_time_ms=0), ("wrong", C, 2, None)),
    "an unread topic": (C, with_progress(1, offsets={"x": 7}), ("wrong", C, 2, None)),
    "progress unreadable": (C, progress(1, lambda at: replaced(at, value=b"{")), ("wrong", C, 2, None)),
    "no first snapshot": (C, without(0), ("missing", C, 0, None)),
    "a snapshot twice": (C, again(-1), ("duplicate", C, 5, None)),
    "a snapshot damaged": (C, replaced(4, value=lambda it: it[:-1] + b"\xff"), ("wrong", C, 4, None)),
    "a foreign record": (C, more(C, b"x", b"x"), ("unexpected", C, 5, None)),
    "another group's": (C, lambda all_: [*all_, all_[1]._replace(key=b"x")], ("unexpected", C, 5, None)),
    "the end of the input lost": (E, lambda records: records[:-1], ("missing", E, 8, None)),
}


@pytest.mark.parametrize("name", TAMPERINGS)
def test_tampered_record_is_named(streams, name):
    topic, change, (fault, where, offset, event_id) = TAMPERINGS[name]
    place = f"{where}[0]" + (f"@{offset}" if offset is not None else "")
    assert (fault, place, event_id) in streams["plain"].changed(topic, change).findings()


COUNTS = [("counts", name) for name in ("predictions", "rejected", "labelled", "mistakes", "pending_labels")]


@pytest.mark.parametrize("number", [0, 1, 2])
@pytest.mark.parametrize("by", [1, -1])
@pytest.mark.parametrize(("table", "name"), [*COUNTS, ("consumed", "events"), ("offsets", "events")])
@pytest.mark.parametrize("which", ["plain", "apart"])
def test_verify_reports_a_changed_count(streams, which, table, name, by, number):
    found = streams[which].changed(C, with_progress(number, **{table: {name: by}})).findings()
    assert any(place.startswith(C) for fault, place, _ in found if fault in {"wrong", "missing"})


@pytest.mark.parametrize("name", ["late", "orphaned", "evicted", "skipped", "assumed"])
def test_verify_reports_an_unknown_count(streams, name):
    found = streams["plain"].changed(C, with_progress(1, counts={name: 1})).findings()
    assert ("wrong", "checkpoints[0]@2", None) in found


OTHERS = {
    "a probability of another score": ("probable", with_fields(1, probability=0.75), ("wrong", "b")),
    "a probability that is none": ("probable", with_fields(1, probability="0.5"), ("wrong", "b")),
    "a score of another probability": ("probable", with_fields(2, score=9.0), ("wrong", "c")),
    "labels apart: an outcome lost": ("apart", without(-1), ("missing", "e")),
    "labels apart: an outcome doubled": ("apart", again(-1), ("duplicate", "e")),
    "labels apart: an outcome too early": ("apart", moved(-1, 0), ("out of order", "a")),
    "labels apart: another delay": ("apart", with_fields(-1, label_delay_seconds=77.0), ("wrong", "e")),
}


@pytest.mark.parametrize("name", OTHERS)
def test_tampered_record_in_other_streams_is_named(streams, name):
    which, change, (fault, event_id) = OTHERS[name]
    found = streams[which].changed(P, change).findings()
    assert (fault, event_id) in {(each, its) for each, _, its in found}


@pytest.mark.parametrize("what", [b'"score"', b'"predicted"'])
@pytest.mark.parametrize("source", [0, 1])
def test_output_in_another_partition_is_named(streams, what, source):
    at = [each for each in streams["two"].records(P, source) if what in each.value][1]
    changes = {
        (P, source): lambda records: [each for each in records if each.offset != at.offset],
        (P, 1 - source): lambda records: [*records, at._replace(partition=1 - source)],
    }
    found = streams["two"].changed_all(changes).findings()
    assert ("wrong", json.loads(at.value)["id"]) in {(fault, event_id) for fault, _, event_id in found}


@pytest.mark.parametrize(("topic", "offset"), [("events", 0), ("events", 6), (P, 3), (D, 0), (C, 2)], ids=str)
def test_row_deleted_by_hand_is_named(streams, topic, offset):
    stream = streams["plain"].changed_all({}).delete_rows(topic, offset)
    gaps = [str(each.position) for each in stream.verify().findings.kept if "are dense" in each.message]
    assert gaps == [f"{topic}[0]@{offset}"]


@pytest.mark.parametrize("what", ["prediction", "letter"])
def test_uncommitted_output_is_named(streams, what):
    stream = streams["plain"].changed_all({}).produce(event("f"), b"junk")
    if what == "prediction":
        output = Output(P, b"f", FOREIGN.replace(b'"x"', b'"f"'))
    else:
        letter = stream.records(D)[1]
        headers = tuple((name, b"9" if name == "source.offset" else value) for name, value in letter.headers)
        output = Output(D, letter.key, letter.value, headers)
    stream.transport.produce([output])
    ((fault, place, _),) = stream.findings()
    assert (fault, place) == ("unexpected", f"{output.topic}[0]@{7 if what == 'prediction' else 2}")


def test_predictions_of_a_partition_without_checkpoints_are_named(streams):
    stream = streams["two"].changed(C, lambda _: [], partition=1)
    found = stream.verify().findings
    assert found.counts["unexpected"] >= len(
        [each for each in stream.records(P, 1) if b'"score"' in each.value]
    )


def test_groups_that_share_their_output_topics_are_named(streams):
    stream = streams["plain"].changed_all({}).run(group="other", checkpoints_topic="checkpoints-2")
    assert stream.verify().findings.counts["duplicate"] >= 5 + 2


def test_missing_committed_offset_is_named(streams, monkeypatch):
    stream = streams["apart"]
    committed = stream.transport.committed
    without_labels = lambda *where: {t: at for t, at in committed(*where).items() if t != "labels"}  # noqa: E731
    monkeypatch.setattr(stream.transport, "committed", without_labels)
    assert ("wrong", "checkpoints[0]", None) in stream.findings()


def test_another_group_is_rejected_by_name(streams):
    with pytest.raises(CheckpointError, match=r"'other' has no checkpoint here, but 'online-p.*' has"):
        streams["plain"].verify(group="other", labels_topic="nowhere")


@pytest.mark.parametrize(
    "given", [{"classes": ("a", "b")}, {"label_timeout_seconds": 5.0}, {"max_pending": 3}]
)
def test_settings_the_service_never_had_are_rejected(streams, given):
    with pytest.raises(SettingsDiffer, match=f"{next(iter(given))}: expected .* as in the checkpoint"):
        streams["plain"].verify(**given)
