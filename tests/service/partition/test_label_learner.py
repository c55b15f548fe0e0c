"""Weights of labels and of classes: what a label counts in learning, wherever and whenever it comes."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perceptron_core.formats.packed import pack, unpack
from service.messages.rejection import Reason
from service.settings.mapping import EventSettings
from tests.service.building import Feed, event, label

MODELS = ["perceptron", "arow", "normalized-adagrad", "auto", "voted-perceptron"]


def learned(model, *messages, **given):
    feed = Feed(model=model, **given)
    for message in messages:
        topic = "events" if "text" in message else "labels"
        feed(message, topic=topic)
    return feed


def weights_in(feed):
    return feed.processor.learner.dump()


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("w", [0.0, 0.5, 3.0])
def test_label_weight_counts_for_immediate_and_late_labels(model, w):
    weighted = {"weight": w}
    expected = Feed(model=model)
    expected.processor.learner.predict_learn(
        expected.processor.x_of(expected.processor.decoder.decode(json.dumps(event("a")).encode()), 0),
        True,
        w,
    )
    for messages in (
        [event("a", label=True) | weighted],
        [event("a"), label("a", True) | weighted],
        [event("a") | weighted, label("a", True)],
        [event("a") | {"weight": 7}, label("a", True) | weighted],
        [label("a", True) | weighted, event("a")],
        [label("a", True) | weighted, event("a") | {"weight": 7}],
        [label("a", True), event("a") | weighted],
        [label("a", True) | {"weight": 7}, event("a", label=True) | weighted],
        [event("a"), event("a", label=True) | weighted],
    ):
        assert weights_in(learned(model, *messages)) == weights_in(expected), messages


def test_correction_reverts_the_first_weight_and_applies_its_own():
    again = learned(
        "perceptron", event("a") | {"weight": 2}, label("a", True), label("a", False) | {"weight": 3}
    )
    assert again.model.bias == -3.0


def test_timed_out_event_counts_its_weight():
    feed = Feed(events=EventSettings(label_on_timeout="false"), label_timeout_seconds=10)
    feed(event("a") | {"weight": 2})
    feed(event("b"), at_seconds=11)
    assert feed.model.bias == -2.0


def test_mistakes_and_labels_are_counted_without_weights():
    plain, weighted = (learned("perceptron", event("a", label=True) | w) for w in ({}, {"weight": 0}))
    assert [step.mistake for step in weighted.steps] == [step.mistake for step in plain.steps] == [True]


@pytest.mark.parametrize("early", [False, True])
def test_pending_event_keeps_its_weight_in_a_snapshot(early):
    first, then = [label("a", True) | {"weight": 3}, event("a")][:: 1 if early else -1]
    if not early:
        first, then = event("a") | {"weight": 3}, label("a", True)
    feed, restored = learned("perceptron", first), Feed()
    restored.processor.restore(unpack(b"".join(feed.processor.state().chunks)))
    assert pack(restored.processor.state()) == pack(feed.processor.state())
    restored(then, topic="events" if early else "labels")
    assert restored.model.bias == 3.0


def test_weight_other_than_1_is_rejected_by_unweighted_models():
    feed = Feed(model="river.naive_bayes:BernoulliNB", checkpoint_key="k")
    (letter,) = feed(event("a") | {"weight": 2})
    assert dict(letter.headers)["error.reason"] == Reason.MODEL_ERROR.encode()
    assert b"the model does not support example weights" in dict(letter.headers)["error.message"]
    assert feed.output_of(event("a") | {"weight": 1})["id"] == "a"


@given(st.sampled_from(["river.linear_model:LogisticRegression", "river.tree:HoeffdingTreeClassifier"]))
def test_model_of_river_is_given_the_weight(model):
    plain, weighted = (
        learned(model, event("a", label=True) | w, checkpoint_key="k") for w in ({}, {"weight": 3})
    )
    assert weights_in(plain) != weights_in(weighted)
