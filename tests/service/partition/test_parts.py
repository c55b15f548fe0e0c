"""A part is named in one place, and is in snapshots, in recovery, in metrics and in what people are shown."""

from typing import ClassVar

import pytest
from prometheus_client import CollectorRegistry

from service.checkpoints.status import partition_statuses
from service.cli.commands import status
from service.errors import CheckpointError, NewerRelease
from service.loop.restore import restore
from service.monitoring.metrics import Metrics
from service.partition.parts import kinds
from service.partition.parts.part import Part
from service.verify.committed import Committed
from service.verify.findings import Fault, Stream
from tests.service.building import Feed, event, label, settings
from tests.service.cli.standing_stream import crash, produce, serve
from tests.service.web.stage import Stage
from tests.support.blank_texts import BlankTexts, add_part

MESSAGES = (event("a", "win", True), event("b", ""), b"junk", event("c", ""), label("b", True))


@pytest.fixture
def part(monkeypatch):
    add_part(monkeypatch)


@pytest.fixture
def learned(part, stream, monkeypatch):
    """A stream whose first batches are in no snapshot but the empty one."""
    stream.ensure_topics({"events": 1})
    produce(stream, *MESSAGES)
    crash(stream, monkeypatch, max_batch_records=2)
    return stream


def counts(found):
    return {name: count for part in found.processor.parts() for name, count in part.counts().items()}


def statuses(stream):
    return partition_statuses(stream, "checkpoints", settings().group, ["events"])


def test_part_state_is_restored_by_replay(learned):
    assert counts(restore(learned, settings(), 0))["blank_texts"] == 2


def test_part_state_is_restored_from_a_snapshot(learned):
    serve(learned)
    found = restore(learned, settings(), 0)
    assert (found.snapshot_sequence, counts(found)["blank_texts"]) == (found.sequence, 2)


def test_part_with_diverging_replayed_counts_is_rejected(learned, monkeypatch):
    monkeypatch.setattr(BlankTexts, "on_event", lambda *_: b"")
    with pytest.raises(CheckpointError, match=r"'blank_texts': 2.*'blank_texts': 0"):
        restore(learned, settings(), 0)


def test_snapshot_without_the_part_is_restored(stream, monkeypatch):
    stream.ensure_topics({"events": 1})
    produce(stream, *MESSAGES)
    crash(stream, monkeypatch)
    add_part(monkeypatch)
    assert counts(restore(stream, settings(), 0))["blank_texts"] == 2


def test_release_without_the_part_rejects_its_snapshots(learned, monkeypatch):
    monkeypatch.setattr(kinds, "OPTIONAL_PARTS", kinds.OPTIONAL_PARTS[:-1])
    with pytest.raises(NewerRelease, match="unknown parts: 'blanks'"):
        restore(learned, settings(), 0)


def test_release_without_the_part_rejects_its_counts(stream, monkeypatch):
    stream.ensure_topics({"events": 1})
    crash(stream, monkeypatch)
    produce(stream, *MESSAGES)
    with monkeypatch.context() as newer:
        add_part(newer)
        crash(stream, monkeypatch)
    with pytest.raises(NewerRelease, match="unknown counts 'blank_texts'"):
        restore(stream, settings(), 0)


@pytest.mark.usefixtures("part")
def test_part_metric_counts_published_records_only():
    feed, metrics = Feed(), Metrics(CollectorRegistry())
    feed(event("a", ""))
    metrics.publish(0, metrics.state_of(0, feed.processor))
    feed(event("b", ""))
    assert metrics.registry.get_sample_value("perceptron_blank_texts_total", {"partition": "0"}) == 1


def test_status_shows_the_counts_of_a_part(learned):
    (found,) = statuses(learned)
    row = status._as_row(found)
    assert row["blank_texts"] == 2
    assert "blank texts" in status._as_text([row])


def test_verify_compares_snapshot_counts_with_the_batch(learned, monkeypatch):
    assert not committed_findings(learned)
    monkeypatch.setattr(BlankTexts, "state", lambda part: {"blank_texts": part.count["blank_texts"] + 1})
    serve(learned)
    assert committed_findings(learned) == {Fault.WRONG: 1}


def committed_findings(stream):
    read = Stream(stream, settings())
    Committed(read, 0).read()
    return read.report.findings.counts


@pytest.mark.usefixtures("part")
def test_model_description_has_the_count_of_each_part():
    stage = Stage()
    stage(event("a", ""))
    with stage.served() as client:
        assert client.get("/model").json()["counts"]["blank_texts"] == 1


def test_part_takes_the_labelled_predictions_of_each_batch(monkeypatch):
    class Labels(Part):
        name = "labels_seen"
        counted: ClassVar = {"labels_seen": "Labels seen."}

        def on_batch(self, learned):
            self.count["labels_seen"] += len(learned)

    add_part(monkeypatch, Labels)
    feed = Feed()
    for message in MESSAGES[:2]:
        feed(message)
    feed(label("b", True), topic="labels")
    assert feed.processor.optional_parts[-1].counts() == {"labels_seen": 2}
