"""Records of another schema, from their topics to `verify`: the model is that of the native schema."""

import json

import pytest

from service.stream.protocol import Output
from service.verify.verify import verify
from tests.service.building import settings
from tests.service.cli.standing_stream import serve
from tests.support.foreign_events import CLASSES, LABELS, MAPPING, corpus, foreign, foreign_label

GIVEN = {"classes": CLASSES, "events": MAPPING, "labels": LABELS}


@pytest.fixture
def topics(stream):
    stream.ensure_topics({"events": 1, "labels": 1})
    return stream


_BEGAN = 1_700_000_000


def send(stream, first, *, count=60):
    """Send events with their labels on another topic, and records that cannot be mapped."""
    for number, (text, spam) in enumerate(corpus(count), start=first):
        event = foreign(number, text, None, at_seconds=_BEGAN + number)
        label = foreign_label(number, spam, _BEGAN + number + 5)
        stream.produce(
            [Output("events", b"k", event, (), 0, number), Output("labels", b"k", label, (), 0, number)]
        )
        if number % 20 == 0:
            bad = {"meta": {"sent_at": "soon"}, "mail": {"body": "x"}}
            stream.produce([Output("events", b"k", json.dumps(bad).encode(), (), 0, number)])


@pytest.fixture(autouse=True)
def no_patience(monkeypatch):
    monkeypatch.setattr("service.loop.runner._IDLE_POLL_SECONDS", 0.002)
    monkeypatch.setattr("service.verify.verify.VISIBILITY_SECONDS", 0.0)


@pytest.mark.parametrize(("given", "outcomes"), [({}, 60), ({"label_timeout_seconds": 3}, 0)])
def test_verify_proves_a_service_of_nested_records_by_mapped_times(topics, given, outcomes):
    send(topics, first=1)
    serve(topics, **GIVEN, **given)
    report = verify(topics, settings(**GIVEN, **given))
    assert report.is_proved, report.findings.kept
    assert (report.predictions, report.outcomes, report.dead_letters) == (60, outcomes, 3)
