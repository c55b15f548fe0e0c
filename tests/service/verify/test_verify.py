"""What the service does is proved; what cannot be known is named, and the rest is still evaluated."""

import json
import sqlite3
from contextlib import closing

import pytest
from hypothesis import HealthCheck, example, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from service.errors import StorageFull
from service.settings.load import Settings
from service.settings.mapping import EventSettings, LabelSettings
from service.settings.topics import input_topics
from service.stream.protocol import Output, RecordLimit
from service.verify import verify as module
from tests.service.building import event, label, spread_snapshots
from tests.service.verify.verified_stream import LOG, VerifiedStream, again, moved, with_fields, without
from tests.support.example_counts import n_examples
from tests.support.recreated_topic import recreate

TIMES_OUT = EventSettings(label_on_timeout="false")
AT_TIMEOUT = EventSettings(label_on_timeout="false", unlabelled="at_timeout")
TEN = [event(f"e{n}", "win" if n % 2 else "lose") for n in range(10)]
LABELS = [label(f"e{n}", n % 3 == 0) for n in range(10)]
FILTERED = {
    "events": EventSettings(where="kind != 'test'", id="id", features=("n",)),
    "labels": LabelSettings(where="label"),
}
TEST_EVENT = b'{"id": "b", "n": 1, "kind": "test"}'


def test_plain_stream_is_proved_with_counts(streams):
    report = streams["plain"].verify()
    assert (report.is_proved, report.notes, report.unread) == (True, [], {})
    assert (report.records, report.predictions, report.outcomes, report.dead_letters) == (9, 5, 2, 2)
    assert (report.progress_records, report.snapshots, report.partitions) == (3, 2, 1)


def test_skipped_records_are_proved(open_stream):
    log = [b'{"id": "a", "n": 1}', TEST_EVENT, b"junk", TEST_EVENT]
    stream = open_stream(**FILTERED).produce(*log).run()
    report = stream.verify()
    assert (report.findings.kept, report.notes, report.records) == ([], [], len(log))
    assert stream.changed("predictions", without(-1)).findings()


@pytest.mark.parametrize("ratio", [0.0, float("inf")], ids=["whole", "increments"])
def test_snapshots_between_later_batches_are_proved(open_stream, monkeypatch, ratio):
    spread_snapshots(monkeypatch)
    for name in ("INCREMENT_RATIO", "CHAIN_RATIO"):
        monkeypatch.setattr(f"service.loop.snapshots.{name}", ratio)
    monkeypatch.setattr("perceptron_core.formats.model_changes._MAX_RATIO", ratio)
    stream = open_stream(labels_topic="", max_batch_records=1, snapshots_kept=99).produce(*LOG, *TEN)
    report = stream.run(snapshot_interval_records=4).verify()
    assert report.is_proved, report.findings.kept
    assert report.snapshots > 2
    last = [
        n for n, each in enumerate(stream.records("checkpoints")) if ("kind", b"progress") not in each.headers
    ][4]
    assert ("wrong", None) in {
        (fault, event_id) for fault, _, event_id in stream.changed("checkpoints", without(last)).findings()
    }


@pytest.mark.parametrize(
    "headers",
    [(("source.offset", b"77"),), (("error.reason", b"empty"),), (("replayed.from", b"dead-letters[0]@0"),)],
    ids=str,
)
@pytest.mark.parametrize("limit", [1000, 10_000], ids=["cut", "whole"])
def test_dead_letters_are_proved_for_any_record_headers(open_stream, monkeypatch, headers, limit):
    stream = open_stream(labels_topic="")
    monkeypatch.setattr(stream.transport, "record_limit", lambda _: RecordLimit(limit, limit))
    stream.transport.ensure_topics({"events": 1})
    stream.transport.produce([Output("events", b"k", b"x" * 3000, headers, 0, 1_009_000)])
    report = stream.run().verify()
    assert (report.findings.kept, report.dead_letters) == ([], 1)


DECIDED = {"decisions": [{"name": "act", "threshold": 0.0}]}
FEW = {"max_pending": 7}
DRIFT = {"drift": {"reaction": "record"}}


@pytest.mark.parametrize("snapshots_kept", [1, 9])
@pytest.mark.parametrize(
    "starts", [[{}, DECIDED, DECIDED | FEW], [DECIDED, {}, DECIDED], [DRIFT, {}, DRIFT, {}, DRIFT]], ids=str
)
def test_settings_changed_without_a_batch_are_not_a_contradiction(open_stream, starts, snapshots_kept):
    stream = open_stream(labels_topic="", snapshots_kept=snapshots_kept).produce(*TEN, *LABELS).run()
    plain = stream.settings.model_dump()
    for start in starts:
        stream.settings = Settings(**plain | start)
        stream.run()
    assert stream.verify().is_proved
    stream.produce(*TEN, *LABELS, at_ms=1_100_000).run()
    report = stream.verify()
    assert report.is_proved, report.findings.kept


@pytest.mark.parametrize("snapshots_kept", [1, 9])
@pytest.mark.parametrize("labels_topic", ["", "labels"])
def test_removed_decision_is_named(open_stream, snapshots_kept, labels_topic):
    stream = open_stream(labels_topic=labels_topic, snapshots_kept=snapshots_kept)
    stream.settings = Settings(**stream.settings.model_dump() | DECIDED)
    for n in range(3):
        stream.produce(*TEN[3 * n : 3 * n + 3], at_ms=1_000_000 + n * 10_000).run()
    assert stream.verify().is_proved
    for at in range(9):
        changed = stream.changed("predictions", with_fields(at, decision=None))
        assert [fault for fault, _, _ in changed.findings()] == ["wrong"]


@pytest.mark.parametrize("model", ["perceptron", "normalized-adagrad"])
@pytest.mark.parametrize("change", [{"threshold": 0.9999}, {"decision": None}, {"threshold": 1e9}], ids=str)
def test_threshold_above_its_predictions_score_is_named(open_stream, model, change):
    stream = open_stream(labels_topic="", model=model)
    stream.settings = Settings(**stream.settings.model_dump() | DECIDED)
    stream.produce(*TEN, *LABELS).run()
    assert stream.verify().is_proved
    assert stream.changed("predictions", with_fields(0, **change)).findings() == [
        ("wrong", "predictions[0]@0", "e0")
    ]


def test_replayed_dead_letters_are_not_a_contradiction(open_stream):
    stream = open_stream(labels_topic="").produce(event("f", "win", "spam"), b"junk").run()
    stream.replay_letters()
    report = stream.run().verify()
    assert report.is_proved, report.findings.kept
    assert any("settings changed" in note for note in report.notes)


def test_full_disk_of_the_temporary_database_is_named(streams, monkeypatch):
    database = sqlite3.connect("")
    database.execute("PRAGMA max_page_count = 4")
    monkeypatch.setattr(module.sqlite3, "connect", lambda _: database)
    with pytest.raises(StorageFull, match="temporary database: database or disk is full"):
        streams["plain"].verify()


def test_input_after_the_last_commit_is_reported_as_unread(streams):
    report = streams["plain"].changed_all({}).produce(event("f"), b"junk", label("e", True)).verify()
    assert (report.findings.kept, report.records, report.unread) == ([], len(LOG), {"events[0]": 3})


def test_outputs_committed_meanwhile_are_not_yet_evaluated(streams, monkeypatch):
    stream = streams["plain"].changed_all({}).produce(event("f"), b"junk", label("e", True))
    read_logs = module.read_logs

    def read_and_go_on(found):
        logs = read_logs(found)
        stream.run()
        return logs

    monkeypatch.setattr(module, "read_logs", read_and_go_on)
    report = stream.verify()
    assert (report.findings.kept, report.predictions, report.not_yet_evaluated) == ([], 5, 3)


NOT_VERIFIABLE = {
    "events deleted": (lambda it: it.delete_before("events", 3), "events[0]: records 0-2 are deleted"),
    "predictions deleted": (
        lambda it: it.delete_before("predictions", 2),
        "2 events whose predictions are deleted",
    ),
    "dead letters deleted": (
        lambda it: it.delete_before("dead-letters", 1),
        "dead-letters[0]: records 0-0 are deleted",
    ),
    "the dead letter of a valid record deleted": (
        lambda it: it.produce(event("late"), at_ms=10**16).run().delete_before("dead-letters", 3),
        "dead-letters[0]: records 0-2 are deleted",
    ),
    "input lost unread": (
        lambda it: (
            it.produce(event("f"), event("g")).delete_before("events", 10).run(on_data_loss="continue")
        ),
        "events[0]: records 9-9 were lost unread",
    ),
    "a model put in": (
        lambda it: it.begin_anew().produce(event("f"), label("e", True)).run(),
        "its counts restarted",
    ),
    "a setting changed": (
        lambda it: change(it, max_message_bytes=200).produce(event("f"), event("long", "win " * 99)).run(),
        "7 predictions and outcomes whose events were not read",
    ),
    "an id in two partitions": (
        lambda it: change(it, partitions=2).produce(event("a"), partition=1).run(),
        "1 event ids in several partitions",
    ),
}


def change(stream, **given):
    """Start and stop the service once under other settings."""
    if "partitions" in given:
        stream.transport.add_partitions({"events": given["partitions"]})
    stream.settings = stream.settings.model_copy(update=given)
    return stream.run()


def test_restarted_counts_of_two_topics_are_named_once(open_stream):
    stream = open_stream(labels_topic="labels").produce(*LOG[:4]).produce(LOG[4], topic="labels").run()
    stream.begin_anew().produce(event("f")).produce(LOG[6], topic="labels").run()
    restarted = [each for each in stream.verify().notes if "its counts restarted" in each]
    assert len(restarted) == 1


@pytest.mark.parametrize("name", NOT_VERIFIABLE)
def test_unverifiable_part_is_named_and_not_a_contradiction(open_stream, name):
    make, note = NOT_VERIFIABLE[name]
    stream = make(open_stream(labels_topic="").produce(*LOG).run())
    report = stream.verify()
    assert report.is_proved, report.findings.kept
    assert any(note in each for each in report.notes), report.notes
    stream.produce(event("z"), label("z", True)).run()
    last = stream.records("predictions")[-2:]
    assert stream.verify().is_proved
    assert stream.changed(
        "predictions", lambda records: [each for each in records if each not in last]
    ).findings()


@pytest.mark.parametrize("n_new", [0, 2, 20])
@pytest.mark.parametrize("topic", ["events", "labels"])
def test_recreated_topic_is_named_and_not_a_contradiction(open_stream, topic, n_new):
    stream = open_stream(labels_topic="labels")
    stream.produce(*TEN).produce(*LABELS, topic="labels").run()
    recreate(stream.transport, topic)
    stream.produce(
        *[event(f"n{n}") if topic == "events" else label("e1", True) for n in range(n_new)], topic=topic
    )
    report = stream.verify()
    assert report.findings.kept == []
    assert f"{topic}[0]: records 0-9 are gone: the topic was deleted and recreated" in report.notes
    assert report.unread == ({f"{topic}[0]": n_new} if n_new else {})
    assert stream.changed("predictions", again(3)).findings()


@pytest.mark.parametrize("snapshots_kept", [1, 9])
@pytest.mark.parametrize("n_new", [0, 1, 4, 12])
def test_dead_letters_from_before_a_recreation_are_not_a_contradiction(open_stream, snapshots_kept, n_new):
    stream = open_stream(labels_topic="", on_data_loss="continue", snapshots_kept=snapshots_kept)
    recreate(stream.produce(*LOG).run().transport)
    new = [event(f"n{n}") for n in range(n_new)]
    report = stream.produce(*new, b"new junk").run().produce(event("y")).run().verify()
    assert (report.findings.kept, report.dead_letters) == ([], 1)
    assert any("events[0]: the topic was recreated" in note for note in report.notes)
    assert ("missing", f"events[0]@{n_new}", None) in stream.delete_rows("dead-letters", 2).findings()


def test_dead_letter_beyond_both_ends_of_a_recreated_topic_is_named(open_stream):
    stream = open_stream(labels_topic="", on_data_loss="continue", snapshots_kept=9)
    recreate(stream.produce(*LOG).run().transport)
    letter = stream.produce(event("y")).run().records("dead-letters")[0]
    for offset in (b"8", b"9"):
        headers = tuple((dict(letter.headers) | {"source.offset": offset}).items())
        stream.transport.produce([Output("dead-letters", letter.key, letter.value, headers)])
    assert stream.findings() == [("unexpected", "dead-letters[0]@3", None)]


def test_partitions_that_are_gone_are_named_and_not_a_contradiction(open_stream):
    stream = open_stream(labels_topic="").produce()
    stream.transport.add_partitions({"events": 3})
    recreate(stream.produce(*TEN, b"junk", partition=2).run().transport, partitions=1)
    report = stream.verify()
    gone = "events[2]: records 0-10 are gone: the topic was recreated with fewer partitions"
    assert (report.findings.kept, gone in report.notes) == ([], True)


@pytest.mark.parametrize("snapshots_kept", [1, 2])
def test_timeouts_in_unknown_order_are_not_a_contradiction(open_stream, snapshots_kept):
    """Labels were read late, so that timeouts came first; `verify` cannot know where no progress is left."""
    given = {"label_timeout_seconds": 2, "events": AT_TIMEOUT, "snapshots_kept": snapshots_kept}
    stream = open_stream(labels_topic="labels", **given)
    stream.produce(event("a"), event("b"), event("c"), at_ms=1_000_000).run()
    stream.produce(event("d"), at_ms=1_009_000).run()
    stream.produce(label("a", True), label("b", False), topic="labels", at_ms=1_001_000).run()
    report = stream.produce(event("z"), at_ms=1_020_000).run().verify()
    assert (report.findings.kept, report.outcomes) == ([], 4)
    last = max(n for n, each in enumerate(stream.records("predictions")) if b'"predicted"' in each.value)
    assert stream.changed("predictions", again(last)).findings()


@pytest.mark.parametrize("n_deleted", [1, 4])
def test_compaction_after_a_deleted_beginning_is_not_a_contradiction(open_stream, monkeypatch, n_deleted):
    stream = open_stream(labels_topic="labels", snapshots_kept=1)
    stream.produce(*TEN, b"junk", *TEN, at_ms=1_000_000).produce(*LABELS, topic="labels").run()
    stream.delete_before("events", n_deleted).delete_rows("events", 5, 10, 12)
    monkeypatch.setattr(type(stream.transport), "offsets_are_dense", False)
    report = stream.verify()
    assert report.is_proved, report.findings.kept


@pytest.mark.parametrize("offsets", [(1,), (3, 4, 5), (0, 2, 8, 9), (12,), tuple(range(20))], ids=str)
@pytest.mark.parametrize("snapshots_kept", [1, 9])
def test_compaction_is_not_a_contradiction(open_stream, monkeypatch, offsets, snapshots_kept):
    stream = open_stream(labels_topic="", snapshots_kept=snapshots_kept)
    for _ in range(2):
        stream.produce(*TEN[:6], *LABELS[:6], b"junk").run()
    monkeypatch.setattr(type(stream.transport), "offsets_are_dense", False)
    report = stream.delete_rows("events", *offsets).verify()
    assert report.is_proved, report.findings.kept
    assert any("missing between others" in note for note in report.notes)


def test_unordered_topics_before_oldest_progress_are_not_a_contradiction(open_stream):
    """Of what lies before the oldest progress record, no one knows the order among several places."""
    stream = open_stream(labels_topic="labels", snapshots_kept=1)
    for n in range(4):
        stream.produce(event(f"e{n}"), b"junk", at_ms=1_100_000 + n).run()
        stream.produce(b"more junk", topic="labels", at_ms=1_000_000 + n).run()
    report = stream.verify()
    assert (report.findings.kept, report.dead_letters) == ([], 8)
    swapped = stream.changed("dead-letters", moved(0, 2))
    assert ("out of order", "dead-letters[0]@2", None) in swapped.findings()


def test_unordered_event_with_earlier_label_is_not_a_contradiction(open_stream):
    stream = open_stream(labels_topic="labels", snapshots_kept=1, label_timeout_seconds=50)
    stream.produce(event("e", "win", True)).produce(event("k"), at_ms=10**13)
    stream.produce(event("e"), at_ms=1_010_000).run()
    stream.produce(label("x", True), topic="labels", at_ms=1_100_000).run()
    report = stream.produce(event("z"), at_ms=1_200_000).run().verify()
    assert (report.findings.kept, report.predictions) == ([], 3)


def test_provisional_truth_in_unknown_order_is_not_a_contradiction(open_stream):
    given = {"label_timeout_seconds": 2, "events": AT_TIMEOUT, "snapshots_kept": 1}
    stream = open_stream(labels_topic="labels", **given)
    stream.produce(event("e")).produce(event("k"), at_ms=1_003_000).produce(event("e"), at_ms=1_001_000).run()
    stream.produce(label("e", True), topic="labels", at_ms=1_000_500).run()
    report = stream.produce(event("z"), at_ms=1_200_000).run().verify()
    assert (report.findings.kept, report.predictions) == ([], 4)


@pytest.mark.parametrize("max_pending_bytes", [1500, 1900])
def test_events_evicted_by_size_are_not_a_contradiction(open_stream, max_pending_bytes):
    stream = open_stream(labels_topic="")
    stream.settings = stream.settings.model_copy(update={"max_pending_bytes": max_pending_bytes})
    stream.produce(*TEN, *LABELS, *TEN, *LABELS).run()
    report = stream.verify()
    assert report.is_proved, report.findings.kept
    outcome = next(n for n, each in enumerate(stream.records("predictions")) if b'"predicted"' in each.value)
    assert stream.changed("predictions", without(outcome)).findings()


ids = st.sampled_from([f"e{n}" for n in range(8)])
messages = st.one_of(
    st.builds(event, ids, st.sampled_from(["win", "lose"]), st.sampled_from([None, None, True, False])),
    st.builds(label, ids, st.booleans()),
    st.sampled_from([b"junk", b"", b'{"id":"e1"}', b'{"id":"e1","label":"no"}']),
)
logs = st.lists(st.tuples(st.integers(0, 5), messages), max_size=30)
given_settings = st.fixed_dictionaries(
    {
        "labels_topic": st.sampled_from(["", "labels"]),
        "label_timeout_seconds": st.sampled_from([2, 10, 1e6]),
        "max_pending": st.sampled_from([1, 2, 3, 50_000]),
        "events": st.sampled_from([EventSettings(), TIMES_OUT, AT_TIMEOUT]),
        "snapshots_kept": st.sampled_from([1, 9]),
    }
)
LAW = hypothesis_settings(
    max_examples=n_examples(30), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def run(stream, log, now=1000, keys=()):
    """Let the service process messages, keyed by their ids unless other keys are given."""
    topics, outputs = input_topics(stream.settings), []
    stream.transport.ensure_topics(dict.fromkeys(topics, 2))
    for step, message in log:
        now += step
        is_label = isinstance(message, dict) and "text" not in message
        value = json.dumps(message).encode() if isinstance(message, dict) else message
        key = message["id"].encode() if isinstance(message, dict) else b"bad"
        key = keys[len(outputs) % len(keys)] if keys else key
        outputs.append(Output(topics[-1] if is_label else "events", key, value, (), None, now * 1000))
    stream.transport.produce(outputs)
    return stream.run()


E0, NO = event("e0", "win"), label("e0", False)
ONCE = {"labels_topic": "", "label_timeout_seconds": 2, "max_pending": 1, "snapshots_kept": 9}


@example([(0, E0), (0, event("e1")), (0, E0), (0, NO)], ONCE).via("an id twice, the first let go unlabelled")
@example([(0, E0), (0, NO), (0, event("e1")), (0, E0), (0, NO)], ONCE).via("let go with a label")
@LAW
@given(logs, given_settings)
def test_any_run_of_the_service_is_proved(impatient, log, given):
    with closing(VerifiedStream(partitions=2, **given)) as stream:
        report = run(stream, log).verify()
    assert report.is_proved, report.findings.kept
    assert report.records == len(log)
    if not given["labels_topic"]:
        assert report.notes == []


@pytest.mark.parametrize("n_deleted", [1, 2])
def test_outcome_of_a_reused_id_is_not_a_contradiction(open_stream, n_deleted):
    same = event("a"), label("a", True)
    stream = open_stream(labels_topic="")
    for message in (*same, *same):
        stream.produce(message)
    report = stream.run().delete_before("events", n_deleted).verify()
    assert report.is_proved, report.findings.kept


@LAW
@given(logs, logs, given_settings, st.lists(st.sampled_from([b"0", b"1"])), st.booleans(), st.data())
def test_deleted_shared_or_restarted_streams_are_not_a_contradiction(
    impatient, log, rest, given, keys, begins_anew, data
):
    with closing(VerifiedStream(partitions=2, **given)) as stream:
        run(stream, log, keys=keys)
        if begins_anew:
            stream.begin_anew()
        run(stream, rest, now=1100, keys=keys)
        for topic in (*input_topics(stream.settings), "predictions", "dead-letters"):
            for partition in range(2):
                end = stream.transport.bounds(topic, partition)[1]
                stream.transport.delete_before(topic, partition, data.draw(st.integers(0, end)))
        report = stream.verify()
    assert report.is_proved, report.findings.kept
