"""The streams that the benchmarks make."""

import json

import pytest

from benchmarks.measures.examples import drawn_events, events, text_events, with_late_labels


def test_drawn_events_are_those_of_the_list():
    assert list(drawn_events(50)) == events(50)


@pytest.mark.parametrize("delay", [0, 3, 100])
def test_each_label_follows_its_event_by_so_many_events(delay):
    sent = [json.loads(value) for value in with_late_labels(20, delay)]
    seen = []
    labels = {}
    for message in sent:
        if "features" in message:
            assert "label" not in message
            seen.append(message["id"])
        else:
            labels[message["id"]] = message["label"]
            assert seen.index(message["id"]) == max(0, len(seen) - 1 - delay) or len(seen) == 20
    assert labels == {event["id"]: event["label"] for event in map(json.loads, events(20))}


def test_texts_are_repeated_under_ids_of_their_own():
    sent = [json.loads(value) for value in text_events(6000)]
    assert len({event["id"] for event in sent}) == 6000
    assert {type(event["text"]) for event in sent} == {str}
    assert {event["label"] for event in sent} == {True, False}
