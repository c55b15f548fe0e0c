"""Labels that never come: an event gets the class of `events.label_on_timeout` when its time is over."""

import json

import pytest

from service.partition.examples import Example
from service.partition.label_join import LabelJoin
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
    assert feed.processor.join.n_pending == 0


def test_labelled_event_does_not_time_out():
    feed = feed_with("true")
    feed(event("a"))
    feed(label("a", False), at_seconds=10)
    assert tick(feed, 11) == []
    assert feed.counters.labels == {"matched": 1}


def test_outcomes_precede_the_prediction_of_the_record_advancing_time():
    feed = feed_with()
    feed(event("a"))
    feed(event("b"), at_seconds=1)
    outputs = values(feed(event("c"), at_seconds=12))
    assert [(each["id"], "predicted" in each) for each in outputs] == [("a", True), ("b", True), ("c", False)]


def test_event_that_advances_time_is_predicted_after_the_timeouts():
    feed = feed_with("true")
    feed(event("a", "win"))
    *_, prediction = values(feed(event("b", "win"), at_seconds=11))
    assert (prediction["label"], prediction["updates"]) == (True, 1)


def test_rejected_record_advances_event_time():
    feed = feed_with()
    feed(event("a"))
    outcome, letter = feed(b"junk", at_seconds=11)
    assert (outcome.topic, letter.topic) == ("predictions", "dead-letters")


def test_evicted_event_is_not_learned_at_its_timeout():
    feed = feed_with(max_pending=1)
    feed(event("a"))
    feed(event("b"))
    assert [each["id"] for each in tick(feed, 30)] == ["b"]


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


def test_memory_is_bounded_while_one_event_blocks_later_ones():
    join = LabelJoin(10, 3, truth_on_timeout=False, correction_seconds=10)
    for number in range(1000):
        join.keep(Example(f"e{number}", {}, False, 0.0, 1_000_000 - number))
    assert len(join._waiting) <= 3
