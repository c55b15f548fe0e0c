"""What is rejected before it is appended: all that would be a dead letter."""

import json

import pytest

from service.intake.submissions import SubmissionReader
from service.messages.rejection import Reason, Rejection
from tests.service.building import SetClock, settings
from tests.service.poison import MAX_MESSAGE_BYTES, POISON


def rejection(read, value, **given):
    with pytest.raises(Rejection) as rejected:
        read(value, **given)
    return rejected.value


@pytest.mark.parametrize(("value", "reason"), POISON.values(), ids=POISON)
def test_record_the_loop_would_reject_is_rejected_with_its_reason(value, reason):
    reader = SubmissionReader(settings(max_message_bytes=MAX_MESSAGE_BYTES))
    assert rejection(reader.event, value).reason == rejection(reader.label, value).reason == reason


def test_labels_without_a_topic_are_appended_to_events():
    reader = SubmissionReader(settings(labels_topic=""))
    assert reader.label(b'{"id": "a", "label": true}').output.topic == "events"


def test_event_id_is_read_from_the_request_key():
    by_key = SubmissionReader(settings(events={"id": "@key", "format": "text"}))
    assert by_key.event(b"win", b"17").id == "17"
    assert rejection(by_key.event, b"win").reason is Reason.MISSING_FIELD
    assert by_key.label(b'{"id": "a", "label": true}', b"k").output.key == b"k"


@pytest.mark.parametrize("place", ["@offset", "@header.Message-Id"])
def test_id_from_the_record_offset_is_rejected(place):
    reader = SubmissionReader(settings(events={"id": place, "format": "text"}))
    assert rejection(reader.event, b"win").reason is Reason.INVALID_ID


@pytest.mark.parametrize(("at", "is_rejected"), [(1e30, True), (-1, True), (1060, False), (1061, True)])
def test_posted_time_is_rejected_if_the_loop_would_reject_it(at, is_rejected):
    mapping = {"events": {"text": "body", "timestamp": "at"}, "labels": {"timestamp": "at"}}
    clock = SetClock()
    clock.seconds = 1000
    reader = SubmissionReader(settings(max_event_time_ahead_seconds=60, **mapping), clock)
    value = json.dumps({"id": "a", "at": at, "body": "x", "label": True}).encode()
    for read in (reader.event, reader.label):
        if is_rejected:
            assert rejection(read, value).reason is Reason.EVENT_TIME_OUT_OF_RANGE
        else:
            assert read(value).id == "a"
