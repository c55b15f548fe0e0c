"""Each fault is found, and the record named that has it."""

import json

import pytest

from service.audit.committed.commits import CommitReader
from service.audit.findings import Fault
from service.errors import CheckpointError
from service.partitioner import partition_for_key
from service.stream import Output
from service.transport.sqlite.schema import place_of
from tests.service.audit.audited_stream import LOG, doubled, findings, produce, replay, with_fields, without
from tests.service.building import event, label


def test_what_the_service_did_is_proved_with_numbers(stream):
    report = stream.audit()
    assert report.is_proved
    assert (report.records, report.predictions, report.outcomes, report.dead_letters) == (9, 5, 2, 2)
    assert (report.progress_records, report.notes) == (3, [])


def test_a_prediction_taken_out_is_named_by_its_event(stream):
    changed = stream.changed("predictions", without(2))
    assert findings(changed) == [(Fault.MISSING, "events[0]@3", "c")]


def test_a_prediction_doubled_is_named(stream):
    changed = stream.changed("predictions", doubled(1))
    assert findings(changed) == [(Fault.DOUBLED, "predictions[0]@7", "b")]


def test_a_truth_that_is_not_the_events_is_named(stream):
    changed = stream.changed("predictions", with_fields(4, truth=True, label=True, mistake=False))
    assert findings(changed) == [(Fault.WRONG, "predictions[0]@4", "d")]


def test_a_mistake_that_is_none_is_named(stream):
    changed = stream.changed("predictions", with_fields(4, mistake=True))
    assert (Fault.WRONG, "predictions[0]@4", "d") in findings(changed)


def test_an_outcome_dropped_is_named_by_its_label(stream):
    changed = stream.changed("predictions", without(5))
    assert findings(changed) == [(Fault.MISSING, "events[0]@6", "c")]


def test_an_outcome_doubled_is_named(stream):
    changed = stream.changed("predictions", doubled(3))
    assert (Fault.DOUBLED, "predictions[0]@7", "b") in findings(changed)


def test_two_predictions_swapped_are_named(stream):
    def swap(records):
        return [records[1], records[0], *records[2:]]

    assert findings(stream.changed("predictions", swap)) == [(Fault.OUT_OF_ORDER, "predictions[0]@1", "a")]


def test_a_prediction_of_somebody_else_is_named(stream):
    stream.transport.produce(
        [Output("predictions", b"x", b'{"id":"x","label":true,"score":0.0,"updates":0}')]
    )
    assert findings(stream) == [(Fault.FOREIGN, "predictions[0]@7", "x")]


def test_a_record_that_is_no_prediction_is_named(stream):
    stream.transport.produce([Output("predictions", b"x", b"x")])
    assert findings(stream) == [(Fault.FOREIGN, "predictions[0]@7", None)]


def test_a_dead_letter_dropped_is_named_by_its_record(stream):
    assert findings(stream.changed("dead-letters", without(1))) == [(Fault.MISSING, "events[0]@7", None)]


def test_a_dead_letter_doubled_is_named(stream):
    assert findings(stream.changed("dead-letters", doubled(0))) == [
        (Fault.DOUBLED, "dead-letters[0]@2", None)
    ]


def test_a_progress_record_dropped_is_named_by_the_next(stream):
    found = findings(stream.changed("checkpoints", lambda records: [*records[:2], *records[3:]]))
    assert [(fault, place) for fault, place, _ in found] == [(Fault.MISSING, "checkpoints[0]@2")]


def test_a_lost_last_progress_record_contradicts_the_committed_offsets(stream, monkeypatch):
    changed = stream.changed("checkpoints", lambda records: records[:-2])
    assert (Fault.WRONG, "checkpoints[0]", None) in findings(changed)


def test_counts_that_do_not_add_up_are_named(stream):
    def change(records):
        return [
            record._replace(value=record.value.replace(b'"predictions":4', b'"predictions":3'))
            for record in records
        ]

    assert Fault.WRONG in {fault for fault, *_ in findings(stream.changed("checkpoints", change))}


def test_the_wrong_group_is_said_and_which_ones_there_are(stream):
    with pytest.raises(
        CheckpointError, match="'other' has left no checkpoint here, but 'online-perceptron' has"
    ):
        stream.audit(group="other")


def test_the_wrong_group_is_said_before_a_topic_that_only_its_settings_name(stream):
    with pytest.raises(CheckpointError, match="'other' has left no checkpoint here"):
        stream.audit(group="other", labels_topic="nowhere")


def test_records_behind_the_last_commit_are_not_judged(stream):
    produce(stream, event("f"), b"worse junk", label("e", True))
    report = stream.audit()
    assert report.is_proved
    assert report.records == len(LOG)


@pytest.fixture
def meanwhile(stream, monkeypatch):
    """Let the service go on as soon as the audit has read how far it had committed."""

    def read_and_go_on(reader, report, read=CommitReader.read):
        histories = read(reader, report)
        stream.run()
        return histories

    monkeypatch.setattr(CommitReader, "read", read_and_go_on)


def test_predictions_committed_meanwhile_are_not_yet_judged(stream, meanwhile):
    produce(stream, event("f"))
    report = stream.audit()
    assert report.is_proved
    assert (report.not_yet_judged, report.predictions) == (1, 5)


def test_an_outcome_committed_meanwhile_is_no_contradiction(stream, meanwhile):
    produce(stream, label("e", True), b"still more junk")
    report = stream.audit()
    assert report.is_proved, report.findings
    assert report.records == len(LOG)


def test_input_that_was_deleted_is_said_to_be_not_verifiable(stream):
    stream.transport.delete_before("events", 0, 3)
    report = stream.audit()
    assert report.is_proved
    assert "not verifiable: events[0]: records 0-2 are deleted" in report.notes
    assert (report.records, report.predictions) == (6, 3)


def test_a_fault_is_found_behind_what_was_deleted(stream):
    changed = stream.changed("predictions", without(4))
    changed.transport.delete_before("events", 0, 3)
    assert findings(changed) == [(Fault.MISSING, "events[0]@5", "d")]


def test_predictions_that_were_deleted_are_said_to_be_not_verifiable(stream):
    stream.transport.delete_before("predictions", 0, 2)
    report = stream.audit()
    assert report.is_proved
    assert "not verifiable: 2 events whose predictions are deleted" in report.notes


def test_dead_letters_that_were_replayed_are_no_contradiction(stream, open_stream):
    produce(stream, event("f", "win", "spam"), event("g", "win", "neither"), event("h", "win", "ham"))
    stream.run()
    replay(stream)
    stream.settings = stream.settings.model_copy(update={"classes": ("ham", "spam")})
    stream.run()
    report = stream.audit()
    assert report.is_proved, report.findings
    assert report.dead_letters == 5
    assert report.predictions == 7


def test_a_record_refused_for_its_time_moves_no_clock_of_the_audit_either(open_stream):
    stream = open_stream(labels_topic="", label_timeout_seconds=5)
    produce(stream, event("a", "win"))
    far = Output("events", b"far", json.dumps(event("far")).encode(), (), 0, 250_000_000_000_000)
    stream.transport.produce([far])
    produce(stream, label("a", True))
    report = stream.run().audit()
    assert report.is_proved, report
    assert (report.dead_letters, report.outcomes, report.notes) == (1, 1, [])


def test_input_that_was_lost_and_gone_on_without_is_said_to_be_not_verifiable(stream):
    produce(stream, event("f"), event("g"))
    stream.transport.delete_before("events", 0, 10)
    report = stream.run(on_data_loss="continue", snapshots_kept=9).audit()
    assert report.is_proved, report
    assert "not verifiable: events[0]: records 9-9 were lost unread" in report.notes


def test_several_groups_with_topics_of_their_own_are_each_proved(stream):
    other = {
        "group": "other",
        "predictions_topic": "predictions-2",
        "dead_letters_topic": "dead-letters-2",
        "checkpoints_topic": "checkpoints-2",
    }
    stream.run(**other)
    assert stream.audit().is_proved
    assert stream.audit(**other).is_proved


def test_groups_that_share_their_output_topics_are_refuted(stream):
    stream.run(group="other", checkpoints_topic="checkpoints-2")
    found = stream.audit().findings
    assert found.counts[Fault.DOUBLED] == 5 + 2 + 2


def test_a_label_that_came_too_late_makes_no_outcome(open_stream):
    stream = open_stream(labels_topic="", label_timeout_seconds=2)
    produce(stream, event("a"), event("b"), event("c"), event("d"), label("a", True), label("d", True))
    report = stream.run().audit()
    assert report.is_proved
    assert (report.outcomes, report.notes) == (1, [])


@pytest.mark.parametrize("max_pending_bytes", [1500, 1700, 1900, 2100])
def test_an_event_let_go_for_its_size_that_comes_again_is_no_contradiction(
    open_stream, monkeypatch, max_pending_bytes
):
    monkeypatch.setattr("service.audit.auditor._CHUNK", 1)
    stream = open_stream(labels_topic="", max_pending=3)
    stream.settings = stream.settings.model_copy(update={"max_pending_bytes": max_pending_bytes})
    learned = [event("w", "win", True), event("l", "lose", False)]
    first = [event("a", "win"), event("b"), event("c"), event("a", "win"), event("d"), event("a", "lose")]
    produce(stream, *learned, *first, label("a", True))
    report = stream.run().audit()
    assert report.is_proved, report.findings
    assert "may have been let go" in report.notes[0]


def test_a_wrong_outcome_of_an_event_that_came_once_is_named_though_events_may_be_let_go(open_stream):
    stream = open_stream(labels_topic="")
    stream.settings = stream.settings.model_copy(update={"max_pending_bytes": 1500})
    produce(stream, event("b"), event("c"), event("d"), event("a", "win"), label("a", True))
    stream.run()
    said = json.loads(list(stream.transport.read("predictions", 0))[4].value)
    changed = stream.changed(
        "predictions", with_fields(4, predicted=not said["predicted"], mistake=not said["mistake"])
    )
    assert (Fault.WRONG, "predictions[0]@4", "a") in findings(changed)


def test_labels_on_a_topic_of_their_own_may_come_before_their_events_or_after(open_stream):
    stream = open_stream(labels_topic="labels")
    produce(stream, event("a"), event("b", "win"))
    produce(stream, label("b", True), label("a", True), label("a", False), topic="labels")
    assert stream.run().audit().is_proved


def test_an_outcome_of_another_label_than_the_first_is_named(open_stream):
    stream = open_stream(labels_topic="labels")
    produce(stream, event("a", "win"))
    produce(stream, label("a", True), label("a", True), topic="labels")
    stream.run()
    assert stream.audit().is_proved
    assert findings(stream.changed("predictions", with_fields(1, label_delay_seconds=1.0))) == [
        (Fault.WRONG, "predictions[0]@1", "a")
    ]


def test_a_lost_outcome_is_found_by_the_counts_where_the_order_of_labels_is_no_longer_known(open_stream):
    stream = open_stream(labels_topic="labels", label_timeout_seconds=3)
    produce(stream, event("a"), event("b", "win"), *[event(f"x{n}") for n in range(9)])
    produce(stream, event("y"), label("a", True), topic="labels")
    stream.run()
    assert stream.audit().is_proved
    at = next(r.offset for r in stream.transport.read("predictions", 0) if b"predicted" in r.value)
    report = stream.changed("predictions", without(at)).audit()
    assert [each.message for each in report.findings.kept] == [
        "the counts say 1 labelled, predictions and outcomes say 0",
        "the counts say 1 mistakes, predictions and outcomes say 0",
    ]


def test_events_with_keys_of_their_own_are_matched_over_all_partitions(open_stream):
    stream = open_stream(labels_topic="", partitions=3)
    stream.transport.ensure_topics({"events": 3})
    for n in range(30):
        value = json.dumps(event(f"e{n}")).encode()
        stream.transport.produce([Output("events", b"user", value, (), n % 3, n)])
    report = stream.run().audit()
    assert report.is_proved
    assert report.predictions == 30


@pytest.mark.parametrize(
    ("topic", "offset"),
    [
        ("events", 0),
        ("events", 6),
        ("events", 8),
        ("predictions", 3),
        ("dead-letters", 0),
        ("checkpoints", 2),
    ],
)
def test_a_row_deleted_by_hand_is_named(stream, topic, offset):
    delete_rows(stream, topic, offset)
    found = stream.audit().findings.kept
    gaps = [str(each.place) for each in found if "not there" in each.message]
    assert gaps == [f"{topic}[0]@{offset}"]


def test_a_label_without_effect_deleted_by_hand_is_named(open_stream):
    stream = open_stream(labels_topic="")
    produce(stream, event("a", "win", True), label("a", True), event("b"))
    stream.run()
    delete_rows(stream, "events", 1)
    assert [each.message for each in stream.audit().findings.kept] == [
        "record 1 is not there: this stream leaves no offset out, and deletes the oldest only"
    ]


def test_rows_deleted_by_hand_behind_deleted_ones_are_named(stream):
    stream.transport.delete_before("events", 0, 2)
    delete_rows(stream, "events", 4, 5)
    assert (Fault.MISSING, "events[0]@4", None) in findings(stream)


def test_where_transactions_take_offsets_a_gap_is_no_finding(stream, monkeypatch):
    monkeypatch.setattr(type(stream.transport), "offsets_are_dense", False)
    delete_rows(stream, "events", 7)
    assert not [each for each in stream.audit().findings.kept if "not there" in each.message]


def test_a_row_deleted_by_hand_is_named_once_whatever_is_read_again(open_stream):
    stream = open_stream(labels_topic="", partitions=2)
    stream.transport.ensure_topics({"events": 2})
    produce(stream, event("a"), label("a", True), label("a", True), partition=1)
    stream.run()
    delete_rows(stream, "events", 2, partition=1)
    assert findings(stream) == [(Fault.MISSING, "events[1]@2", None)]


def delete_rows(stream, topic, *offsets, partition=0):
    transport = stream.transport
    places = [(place_of(transport.log(topic, partition), offset),) for offset in offsets]
    with transport._database.writing() as connection:
        connection.executemany("DELETE FROM records WHERE place = ?", places)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"classes": ()}, "classes: the checkpoint was made with ham,spam, the setting is none"),
        ({"classes": ("a", "b")}, "classes: the checkpoint was made with ham,spam, the setting is a,b"),
        (
            {"label_timeout_seconds": 5.0},
            "label_timeout_seconds: the checkpoint was made with 86400.0, the setting is 5.0",
        ),
        ({"max_pending": 3}, "max_pending: the checkpoint was made with 50000, the setting is 3"),
    ],
)
def test_settings_under_which_the_service_did_not_run_are_refused(open_stream, given, message):
    stream = open_stream(labels_topic="", classes=("ham", "spam"))
    produce(stream, event("a", "win", "spam"))
    stream.run()
    assert stream.audit().is_proved
    with pytest.raises(CheckpointError) as caught:
        stream.audit(**given)
    assert str(caught.value) == message


def test_a_setting_changed_since_is_the_one_of_the_newest_snapshot(stream):
    produce(stream, event("f"))
    stream.run(max_pending=7)
    assert stream.audit(max_pending=7).is_proved
    with pytest.raises(CheckpointError, match="max_pending"):
        stream.audit()


def test_labels_of_events_before_a_model_was_put_in_without_restoring_are_not_verifiable(stream):
    stream.begin_anew()
    assert "counts have restarted" in stream.audit().notes[0]
    produce(stream, label("e", True), event("e", "win"), label("e", False), event("f"), label("f", True))
    report = stream.run().audit()
    assert report.is_proved, report.findings
    assert report.predictions == 7


def test_a_label_forgotten_before_its_event_came_is_not_verifiable(open_stream):
    stream = open_stream(labels_topic="")
    produce(stream, label("a", True))
    stream.run()
    stream.begin_anew()
    produce(stream, event("a"))
    report = stream.run().audit()
    assert report.is_proved, report.findings
    assert "counts have restarted" in report.notes[0]


@pytest.fixture
def shared(open_stream):
    """A stream with the events `a` and `b` in two partitions each, and `c` in one of them."""
    stream = open_stream(labels_topic="", partitions=2)
    stream.transport.ensure_topics({"events": 2})
    produce(stream, event("a", "win"), event("b", "lose", False), partition=1)
    stream.run()
    produce(stream, event("a", "win", True), event("b", "lose"), event("c", "win", True), partition=0)
    return stream.run()


def test_an_id_in_several_partitions_is_named_as_not_verifiable(shared):
    report = shared.audit()
    assert report.is_proved, report.findings
    assert report.predictions == 5
    assert report.notes == [
        "not verifiable: 2 event ids in several partitions, such as 'a': their predictions are only counted"
    ]


def predictions_of(name):
    """Return the partitions for the predictions of an id, of two and of three."""
    return [partition_for_key(name.encode(), n) for n in (2, 3)]


def test_an_id_whose_predictions_lie_in_several_partitions_is_named_as_not_verifiable(open_stream):
    stream = open_stream(partitions=2)
    stream.transport.ensure_topics({"events": 2, "labels": 2})
    moved, other = (
        next(name for name in map(str, range(99)) if predictions_of(name) == places)
        for places in ([1, 0], [0, 2])
    )
    produce(stream, event(moved, "win"), partition=1)
    produce(stream, label(moved, True), topic="labels", partition=1)
    stream.run().transport.add_partitions({"events": 3})
    produce(stream, event(moved, "win"), partition=1)
    produce(stream, event(other, "win"), partition=0)
    report = stream.run().audit()
    assert report.is_proved, report.findings
    (note,) = report.notes
    assert note.startswith(f"not verifiable: 1 event ids in several partitions, such as '{moved}'")


def test_where_ids_lie_in_several_partitions_the_number_of_their_predictions_is_checked(shared):
    at = prediction_of(shared, "a")
    missing = findings(shared.changed("predictions", without(at.offset), at.partition))
    assert [(fault, event_id) for fault, _, event_id in missing] == [(Fault.MISSING, "a")]
    more = findings(shared.changed("predictions", lambda records: [*records, at], at.partition))
    assert [(fault, event_id) for fault, _, event_id in more] == [(Fault.DOUBLED, "a")]


def test_where_ids_lie_in_several_partitions_the_others_are_judged_as_usual(shared):
    at = prediction_of(shared, "c")
    change = with_fields(at.offset, truth=False, label=True, mistake=True)
    found = findings(shared.changed("predictions", change, at.partition))
    assert [(fault, event_id) for fault, _, event_id in found] == [(Fault.WRONG, "c")]


def prediction_of(stream, event_id):
    """Return the first prediction of an event."""
    records = (record for q in range(2) for record in stream.transport.read("predictions", q))
    return next(record for record in records if record.key == event_id.encode())


TEN = [event(f"e{n}", "win" if n % 2 else "lose") for n in range(10)]


def resent(stream, *more):
    """Process ten events, then the same ids once more."""
    for _ in range(2):
        produce(stream, *TEN)
        stream.run()
    produce(stream, *more)
    return stream


@pytest.mark.parametrize("first", [5, 10, 13])
@pytest.mark.parametrize("chunk", [1, 500])
def test_where_ids_came_again_predictions_of_deleted_events_are_not_verifiable(
    open_stream, monkeypatch, first, chunk
):
    monkeypatch.setattr("service.audit.auditor._CHUNK", chunk)
    stream = resent(open_stream(labels_topic=""))
    stream.transport.delete_before("events", 0, first)
    report = stream.audit()
    assert report.is_proved, report.findings
    assert report.predictions == 20 - first
    assert f"not verifiable: {first} predictions and outcomes whose events are deleted" in report.notes


@pytest.mark.parametrize("first", [5, 10, 13])
def test_where_ids_came_again_events_whose_predictions_are_deleted_are_not_verifiable(open_stream, first):
    stream = resent(open_stream(labels_topic=""))
    stream.transport.delete_before("predictions", 0, first)
    report = stream.audit()
    assert report.is_proved, report.findings
    assert f"not verifiable: {first} events whose predictions are deleted" in report.notes


@pytest.mark.parametrize("change", [without(17), doubled(17), with_fields(17, truth=True, mistake=False)])
def test_where_ids_came_again_a_fault_is_found_behind_what_was_deleted(open_stream, change):
    changed = resent(open_stream(labels_topic="")).changed("predictions", change)
    changed.transport.delete_before("events", 0, 5)
    assert findings(changed)


@pytest.mark.parametrize("first", [4, 8, 12, 16])
def test_labels_of_events_that_came_again_and_are_deleted_are_not_verifiable(open_stream, first):
    labels = [label(f"e{n}", n % 3 == 0) for n in range(10)]
    stream = open_stream(labels_topic="", label_timeout_seconds=3)
    for _ in range(2):
        produce(stream, *[each for pair in zip(TEN, labels, strict=True) for each in pair], event("far"))
        stream.run()
    stream.transport.delete_before("events", 0, first)
    stream.transport.delete_before("predictions", 0, first // 2)
    assert stream.audit().is_proved, stream.audit().findings


def test_ids_that_come_again_behind_input_that_was_lost_unread_are_no_contradiction(open_stream):
    stream = resent(open_stream(labels_topic=""), *TEN, *TEN)
    stream.transport.delete_before("events", 0, 24)
    report = stream.run(on_data_loss="continue").audit()
    assert report.is_proved, report.findings
    assert report.predictions == 16


def test_events_with_keys_of_their_own_deleted_from_one_partition_are_not_verifiable(open_stream):
    stream = open_stream(labels_topic="", partitions=3)
    stream.transport.ensure_topics({"events": 3})
    for n in range(30):
        value = json.dumps(event(f"e{n}")).encode()
        stream.transport.produce([Output("events", b"user", value, (), n % 3, n)])
    stream.run().transport.delete_before("events", 1, 6)
    report = stream.audit()
    assert report.is_proved, report.findings
    assert report.predictions == 24


def test_predictions_that_no_commit_covers_are_named(stream):
    produce(stream, event("f"))
    fields = {"id": "f", "label": True, "score": 0.0, "updates": 0}
    stream.transport.produce([Output("predictions", b"f", json.dumps(fields).encode())])
    assert findings(stream) == [(Fault.FOREIGN, "predictions[0]@7", "f")]


def test_a_dead_letter_that_no_commit_covers_is_named(stream):
    letter = list(stream.transport.read("dead-letters", 0))[1]
    headers = tuple((name, b"9" if name == "source.offset" else value) for name, value in letter.headers)
    produce(stream, b"more junk")
    stream.transport.produce([Output("dead-letters", letter.key, letter.value, headers)])
    assert findings(stream) == [(Fault.FOREIGN, "dead-letters[0]@2", None)]


def test_a_partition_without_checkpoints_whose_predictions_are_there_is_refuted(open_stream):
    stream = open_stream(labels_topic="", partitions=2)
    stream.transport.ensure_topics({"events": 2})
    for partition in range(2):
        produce(stream, event(f"p{partition}a"), event(f"p{partition}b"), partition=partition)
    stream.run()
    end = stream.transport.bounds("checkpoints", 1)[1]
    stream.transport.delete_before("checkpoints", 1, end)
    report = stream.audit()
    assert report.findings.counts[Fault.FOREIGN] == 2, report


def test_input_behind_the_last_commit_is_mentioned(stream):
    assert stream.audit().unread == {}
    produce(stream, event("f"), event("g"))
    report = stream.audit()
    assert report.is_proved
    assert report.unread == {"events[0]": 2}


@pytest.mark.parametrize("given", [{"labels_topic": "lab2"}, {"labels_topic": "lab2", "partitions": 3}])
def test_labels_of_a_topic_of_earlier_settings_are_judged_if_it_is_there(open_stream, given):
    stream = open_stream(labels_topic="labels")
    produce(stream, *TEN, event("own", "win", True))
    produce(stream, *[label(f"e{n}", n % 2 > 0) for n in range(8)], topic="labels")
    stream.run()
    stream.settings = stream.settings.model_copy(update=given)
    stream.run()
    produce(stream, event("x"), event("y", "win"))
    produce(stream, label("x", True), topic="lab2")
    report = stream.run().audit()
    assert report.is_proved, report.findings
    assert (report.outcomes, report.notes) == (9, [])
    report = stream.changed_all({}).audit()
    assert report.is_proved, report.findings
    assert "not verifiable: labels[0]: records 0-7 were read under earlier settings" in report.notes


def test_a_topic_that_ends_before_what_was_processed_is_refuted(open_stream):
    stream = open_stream(labels_topic="labels")
    produce(stream, event("a"), event("b"))
    produce(stream, label("a", True), label("b", True), label("b", True), topic="labels")
    stream.run()
    changed = stream.changed("labels", lambda records: records[:-1])
    assert findings(changed) == [(Fault.MISSING, "labels[0]@2", None)]


def test_a_committed_offset_that_is_not_there_is_named(open_stream, monkeypatch):
    stream = open_stream(labels_topic="labels")
    produce(stream, event("a"))
    produce(stream, label("a", True), topic="labels")
    stream.run()
    committed = stream.transport.committed
    without_labels = lambda *where: {t: at for t, at in committed(*where).items() if t != "labels"}  # noqa: E731
    monkeypatch.setattr(stream.transport, "committed", without_labels)
    assert (Fault.WRONG, "checkpoints[0]", None) in findings(stream)
