"""Records that a filter leaves out: the proof holds over them, and what became of one is found."""

import pytest

from service.audit.findings import Fault
from service.settings.mapping import EventSettings, LabelSettings
from tests.service.audit.audited_stream import findings, produce

FILTERED = {
    "events": EventSettings(where="kind != 'test'", id="id", features=("n",)),
    "labels": LabelSettings(where="label"),
}
RECORDS = [
    b'{"id": "a", "n": 1}',
    b'{"id": "b", "n": 1, "kind": "test"}',
    b"junk",
    b'{"id": "c", "n": 2}',
    b'{"kind": "test"}',
]


@pytest.fixture
def stream(open_stream):
    stream = open_stream(**FILTERED)
    produce(stream, *RECORDS)
    produce(stream, b'{"id": "a", "label": null}', b'{"id": "a", "label": 1}', topic="labels")
    return stream.run()


def test_skipped_records_are_no_contradiction(stream):
    report = stream.audit()
    assert report.is_proved, report.findings
    assert (report.predictions, report.outcomes, report.dead_letters, report.skipped) == (2, 1, 1, 3)


def test_a_prediction_of_a_skipped_record_is_foreign(stream):
    def add(records):
        return [*records, records[0]._replace(key=b"b", value=records[0].value.replace(b'"a"', b'"b"'))]

    assert (Fault.FOREIGN, "predictions[0]@3", "b") in findings(stream.changed("predictions", add))
