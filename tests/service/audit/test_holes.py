"""Records gone from between others, as by compaction: not verifiable, and no contradiction."""

import json

import pytest

from service.audit.findings import Fault
from tests.service.audit.audited_stream import findings, produce, without
from tests.service.audit.test_auditor import delete_rows
from tests.service.building import event, label


@pytest.fixture
def compacted(open_stream, monkeypatch):
    """A stream like Kafka's, where an offset without a record may be the marker of a transaction."""

    def make(**given):
        stream = open_stream(**given)
        monkeypatch.setattr(type(stream.transport), "offsets_are_dense", False)
        return stream

    return make


def whole_log(stream):
    """Let the service process six events, each twice and labelled, in several batches."""
    topics = stream.settings.labels_topic or "events"
    for round_ in range(2):
        produce(stream, *[event(f"e{n}", "win" if n % 2 else "lose") for n in range(6)])
        produce(stream, *[label(f"e{n}", n % 3 == round_) for n in range(6)], topic=topics)
        produce(stream, b"junk" if round_ else event("own", "win", True))
        stream.run()
    return stream


@pytest.mark.parametrize("labels_topic", ["", "labels"])
def test_a_compacted_topic_is_not_verifiable_and_no_contradiction(compacted, labels_topic):
    stream = whole_log(compacted(labels_topic=labels_topic, snapshots_kept=2))
    delete_rows(stream, "events", *range(7))
    report = stream.audit()
    assert report.is_proved, report.findings
    assert report.notes[0] == (
        "not verifiable: events[0]: 7 records that were processed are gone from between others, "
        "as by compaction"
    )


@pytest.mark.parametrize(
    "offsets", [(1,), (3, 4, 5), (0, 2, 8, 9), (12,), (14,), (1, 13, 20), tuple(range(20))]
)
@pytest.mark.parametrize("snapshots_kept", [1, 9])
def test_whichever_records_are_gone_nothing_is_said_to_be_wrong(compacted, offsets, snapshots_kept):
    stream = whole_log(compacted(labels_topic="", snapshots_kept=snapshots_kept))
    delete_rows(stream, "events", *offsets)
    report = stream.audit()
    assert report.is_proved, report.findings
    assert f"not verifiable: events[0]: {len(offsets)} records" in report.notes[0]


def test_a_dead_letter_of_a_record_that_is_gone_is_no_contradiction(compacted):
    stream = whole_log(compacted(labels_topic=""))
    delete_rows(stream, "events", 25)
    assert stream.audit().is_proved


def test_an_event_that_is_left_still_needs_its_prediction(compacted):
    stream = whole_log(compacted(labels_topic=""))
    at = next(r.offset for r in stream.transport.read("predictions", 0) if json.loads(r.value)["id"] == "own")
    changed = stream.changed("predictions", without(at))
    delete_rows(changed, "events", 3)
    assert findings(changed) == [(Fault.MISSING, "events[0]@12", "own")]
