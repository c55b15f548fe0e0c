"""Settings that were changed between two runs: each record is judged under those it was processed under."""

import pytest

from service.audit.findings import Fault
from service.checkpoints.identity import EARLIER, identity
from service.settings.mapping import EventSettings
from tests.service.audit.audited_stream import LOG, doubled, findings, produce, without
from tests.service.building import event, label

LONG = event("long", "win " * 100, True)
TEN = [event(f"e{n}", "win" if n % 2 else "lose") for n in range(10)]


def change_settings(stream, **given):
    """Start and stop the service once under other settings."""
    stream.settings = stream.settings.model_copy(update=given)
    return stream.run()


def test_a_message_limit_lowered_after_a_clean_stop_is_no_contradiction(open_stream):
    stream = open_stream(labels_topic="", snapshots_kept=1)
    produce(stream, LONG, *LOG)
    stream.run()
    change_settings(stream, max_message_bytes=200)
    produce(stream, LONG | {"id": "longer"}, event("f"))
    report = stream.run().audit()
    assert report.is_proved, report.findings
    assert (report.predictions, report.dead_letters, report.notes) == (7, 3, [])


@pytest.mark.parametrize(
    ("first", "then"),
    [
        ({"max_pending": 50_000}, {"max_pending": 1}),
        ({"max_pending": 1}, {"max_pending": 50_000}),
        ({"label_timeout_seconds": 1e6}, {"label_timeout_seconds": 2}),
        ({"label_timeout_seconds": 2}, {"label_timeout_seconds": 1e6}),
        ({}, {"events": EventSettings(label_on_timeout="false"), "label_timeout_seconds": 3}),
        (
            {"events": EventSettings(label_on_timeout="false"), "label_timeout_seconds": 3},
            {"events": EventSettings()},
        ),
    ],
)
def test_limits_that_were_changed_hold_from_there_on(open_stream, first, then):
    stream = open_stream(labels_topic="", snapshots_kept=1, **first)
    produce(stream, *TEN, label("e0", True), label("e3", False), label("e9", True))
    stream.run()
    change_settings(stream, **then)
    produce(stream, event("x"), label("e8", True), label("x", True), label("e1", True))
    report = stream.run().audit()
    assert report.is_proved, report.findings
    assert report.notes == []
    last = stream.transport.bounds("predictions", 0)[1] - 1
    assert findings(stream.changed("predictions", without(last)))


def test_in_a_log_of_an_earlier_release_settings_hold_from_snapshot_to_snapshot(open_stream, monkeypatch):
    monkeypatch.setattr("service.loop.recovery.earlier_settings", lambda *_: ())
    stream = open_stream(labels_topic="", snapshots_kept=9)
    produce(stream, LONG, event("a"))
    stream.run()
    change_settings(stream, max_message_bytes=200)
    produce(stream, LONG | {"id": "longer"}, event("b"))
    report = stream.run().audit()
    assert report.is_proved, report.findings
    assert (report.predictions, report.dead_letters) == (3, 1)


def test_settings_that_were_changed_back_are_judged_each_in_its_time(open_stream):
    stream = open_stream(labels_topic="", snapshots_kept=1)
    for n, most in enumerate([5000, 200, 5000]):
        change_settings(stream, max_message_bytes=most)
        produce(stream, LONG | {"id": f"long{n}"}, event(f"short{n}"))
        stream.run()
    report = stream.audit()
    assert report.is_proved, report.findings
    assert (report.predictions, report.dead_letters) == (5, 1)


def test_a_mapping_that_was_changed_reads_what_came_before_as_before(open_stream):
    stream = open_stream(labels_topic="", events=EventSettings(features=("n",), id="a"), snapshots_kept=1)
    produce(stream, b'{"a":"x","n":1}', b'{"b":"y","n":2}')
    stream.run()
    change_settings(stream, events=EventSettings(features=("n",), id="b"))
    produce(stream, b'{"a":"x","n":1}', b'{"b":"z","n":2}')
    report = stream.run().audit()
    assert report.is_proved, report.findings
    assert (report.predictions, report.dead_letters) == (2, 2)


def test_classes_that_were_named_later_are_unknown_labels_before(open_stream):
    stream = open_stream(labels_topic="", snapshots_kept=1)
    produce(stream, event("a", "win", "spam"), event("b", "win", True))
    stream.run()
    change_settings(stream, classes=("ham", "spam"))
    produce(stream, event("c", "win", "spam"))
    report = stream.run().audit()
    assert report.is_proved, report.findings
    assert (report.predictions, report.dead_letters) == (2, 1)


def test_a_model_that_begins_anew_knows_the_settings_before(open_stream):
    stream = open_stream(labels_topic="")
    produce(stream, LONG, event("a"))
    stream.run()
    stream.settings = stream.settings.model_copy(update={"max_message_bytes": 200})
    stream.begin_anew()
    produce(stream, LONG, event("b"))
    report = stream.run().audit()
    assert report.is_proved, report.findings


def test_a_changed_record_of_an_earlier_time_is_refuted(open_stream):
    stream = open_stream(labels_topic="", snapshots_kept=1)
    produce(stream, LONG, event("a"))
    stream.run()
    change_settings(stream, max_message_bytes=200)
    assert findings(stream.changed("predictions", without(0))) == [(Fault.MISSING, "events[0]@0", "long")]


@pytest.fixture
def moved_there_and_back(open_stream):
    """Return a stream whose events were in A, then in B, then in A again: predictions 0-3, 4-7 and 8-11."""
    stream = open_stream(snapshots_kept=1)
    for n, topic in enumerate("ABA"):
        change_settings(stream, events_topic=topic)
        produce(stream, *[event(f"{topic}{n}-{k}", "win", True) for k in range(4)], topic=topic)
        stream.run()
    stream.earlier_topics = ("B",)
    return stream


def test_events_of_a_topic_of_earlier_settings_are_verified(moved_there_and_back):
    produce(moved_there_and_back, event("unread"), topic="B")
    report = moved_there_and_back.audit()
    assert report.is_proved, report.findings.kept
    assert (report.predictions, report.notes, report.unread) == (12, [], {})
    changed = moved_there_and_back.changed("predictions", without(5))
    assert (Fault.MISSING, "B[0]@1", "B1-1") in findings(changed)
    assert (Fault.DOUBLED, "predictions[0]@12", "B1-1") in findings(
        moved_there_and_back.changed("predictions", doubled(5))
    )


@pytest.mark.parametrize(
    ("topic", "end", "n_lost"), [("B", 2, 2), ("B", 4, 4), ("A", 2, 2), ("A", 4, 4), ("A", 6, 6)]
)
def test_predictions_of_deleted_events_are_not_verifiable_in_the_middle_too(
    moved_there_and_back, topic, end, n_lost
):
    moved_there_and_back.transport.delete_before(topic, 0, end)
    report = moved_there_and_back.audit()
    assert report.is_proved, report.findings.kept
    assert report.predictions == 12 - n_lost
    assert f"not verifiable: {n_lost} predictions and outcomes whose events are deleted" in report.notes


def test_a_topic_of_earlier_settings_that_is_gone_is_not_verifiable(moved_there_and_back):
    moved_there_and_back.earlier_topics = ()
    report = moved_there_and_back.changed_all({}).audit()
    assert report.is_proved, report.findings.kept
    assert "not verifiable: B[0]: records 0-3 were read under earlier settings" in report.notes
    assert report.predictions == 8


def test_a_log_without_a_change_names_no_earlier_settings(stream):
    (snapshot,) = [each for each in stream.snapshots() if each.sequence]
    assert snapshot.identity == identity(stream.settings)
    assert EARLIER not in snapshot.identity
