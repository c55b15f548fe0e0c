"""Labels that never come: an event gets the class of `events.label_on_timeout` when its time is over."""

import json

import pytest

from tests.service.building import Feed, event, label
from tests.support.rejecting_learner import RejectingLearner

TIMEOUT_SECONDS = 10
MULTICLASS = {"model": "multiclass-perceptron", "classes": ("sky", "sea", "sand")}


def feed_with(label_on_timeout="false", **given):
    return Feed(events={"label_on_timeout": label_on_timeout}, label_timeout_seconds=TIMEOUT_SECONDS, **given)


def values(outputs):
    return [json.loads(output.value) for output in outputs]


def tick(feed, at_seconds):
    """Advance event time by a label of no event; return the outputs."""
    return values(feed(label("tick", True), at_seconds=at_seconds))


def test_event_without_label_is_learned_at_its_timeout():
    feed = feed_with("true")
    feed(event("a", "win"))
    assert tick(feed, TIMEOUT_SECONDS) == []
    assert feed.processor.learner.updates == 0
    assert tick(feed, TIMEOUT_SECONDS + 0.001) == [
        {
            "id": "a",
            "label": True,
            "predicted": False,
            "mistake": True,
            "label_delay_seconds": TIMEOUT_SECONDS,
            "event_time_ms": 0,
        }
    ]
    assert feed.model.weights == {"text=win": 1.0}
    assert (feed.counters.labels["timed_out"], feed.counters.mistakes) == (1, 1)
    assert feed.processor.join.n_pending_labels == 0


def test_timeout_label_may_be_one_of_several_classes():
    feed = feed_with("sea", **MULTICLASS)
    feed(event("a", "blue"))
    assert [each["label"] for each in values(feed(event("b"), at_seconds=11))[:1]] == ["sea"]


def test_class_is_spelled_as_the_stream_spells_its_labels():
    feed = feed_with("0")
    feed(event("z", label=-1))
    feed(event("a"))
    assert [each["label"] for each in tick(feed, 11)] == [-1]


@pytest.mark.parametrize("at_seconds", [11, 25])
def test_rejected_timeout_label_makes_no_dead_letter(at_seconds):
    feed = feed_with("true")
    feed(event("a"))
    feed.processor.learner = RejectingLearner(feed.processor.learner, "learn", "learn_provisionally")
    outputs = values(feed(event("b"), at_seconds=at_seconds))
    assert [each["id"] for each in outputs] == ["a", "b"]
    assert feed.counters.labels == {"rejected": 1}
    assert not feed.counters.rejected
    assert tick(feed, at_seconds + 5) == []
