"""Each drift that progress records count is a signal of the batch that has found it."""

import pytest

from service.audit.findings import Fault
from service.settings.decisions import DriftSettings
from tests.service.audit.audited_stream import doubled, findings, produce, without
from tests.service.partition.drift.test_part import ON, turning


@pytest.fixture
def stream(open_stream):
    stream = open_stream(
        labels_topic="", max_batch_records=100, snapshots_kept=100, drift=DriftSettings(**ON["drift"])
    )
    produce(stream, *turning())
    return stream.run()


def test_drifts_and_other_signals_are_no_contradiction(stream):
    (signal, *_) = stream.transport.read("signals", 0)
    others = [signal._replace(value=value) for value in (b'{"type": "promote"}', b"junk", None)]
    report = stream.changed("signals", lambda records: [*others, *records]).audit()
    assert report.is_proved, report.findings


@pytest.mark.parametrize("change", [without(0), doubled(0)])
def test_a_drift_that_lacks_or_comes_twice_is_found(stream, change):
    ((fault, place, _),) = findings(stream.changed("signals", change))
    assert (fault, place.startswith("checkpoints[0]@")) == (Fault.WRONG, True)


def test_a_drift_that_nothing_has_found_is_found(open_stream, stream):
    (signal, *_) = stream.transport.read("signals", 0)
    quiet = open_stream(
        labels_topic="", max_batch_records=100, snapshots_kept=100, drift=DriftSettings(**ON["drift"])
    )
    produce(quiet, *turning(650))
    ((fault, *_),) = findings(
        quiet.run().changed(
            "signals",
            lambda _: [
                signal._replace(
                    value=b"""{"type":
        "drift", "data": {"offsets": {"events": 150}}}"""
                )
            ],
        )
    )
    assert fault == Fault.WRONG


def test_a_topic_that_lacks_is_found(stream):
    assert findings(stream, signals_topic="elsewhere")


def test_signals_that_are_deleted_are_not_judged(stream):
    stream.transport.delete_before("signals", 0, 1)
    report = stream.audit()
    assert (report.is_proved, report.notes) == (True, ["not verifiable: signals[0]: records 0-0 are deleted"])


def test_to_turn_decisions_off_is_no_contradiction(open_stream):
    stream = open_stream(labels_topic="", snapshots_kept=100, decisions=[{"name": "act", "threshold": 0.0}])
    produce(stream, *turning(20))
    stream.run()
    produce(stream, *turning(20))
    report = stream.run(decisions=()).audit()
    assert report.is_proved, report.findings


def test_to_turn_them_off_is_no_contradiction(stream):
    produce(stream, *turning(300))
    report = stream.run(drift=DriftSettings()).audit()
    assert report.is_proved, report.findings
