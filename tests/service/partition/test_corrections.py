"""Labels in two times: the provisional label holds until a label comes, within `label_correction_seconds`."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perceptron_core import NormalizedAdaGrad
from perceptron_core.elementary import logistic
from perceptron_core.formats.packed import pack
from service.lab.evaluation import Evaluation
from service.partition.factory import make_processor
from tests.service.building import Feed, event, label, settings
from tests.support.rejecting_learner import RejectingLearner

TIMEOUT, CORRECTION = 10, 50
END = TIMEOUT + CORRECTION
GIVEN = {"label_timeout_seconds": TIMEOUT, "label_correction_seconds": CORRECTION}


def feed_with(label_on_timeout="false", **given):
    unlabelled = given.pop("unlabelled", "matched")
    return Feed(events={"label_on_timeout": label_on_timeout, "unlabelled": unlabelled}, **GIVEN | given)


def tick(feed, at_seconds):
    feed(label("tick", True), at_seconds=at_seconds)


def known(feed):
    """Return what is known at last of the labelled predictions."""
    counters, calibration = feed.counters, feed.counters.calibration
    return {
        "labelled": counters.labelled,
        "error": counters.error_ratio(),
        "cells": +counters.confusion.cells,
        "scores": counters.score_bins,
        "calibration": (calibration.counts, calibration.correct),
        "loss": pytest.approx(calibration.loss),
        "assumed": counters.assumed,
    }


features = st.dictionaries(st.sampled_from("fgh"), st.integers(-3, 3), min_size=1)


@given(
    st.lists(st.tuples(features, st.booleans()), max_size=8),
    features,
    st.lists(features, max_size=3),
    st.integers(TIMEOUT + 1, 2 * TIMEOUT + 1),
    st.sampled_from(["perceptron", "multiclass-perceptron"]),
)
def test_late_label_leaves_the_state_of_an_equal_timeout(before, x, asked, at, model):
    late, at_once = feed_with(model=model), feed_with("true", model=model)
    for feed in (late, at_once):
        for number, (each, truth) in enumerate(before):
            feed(event(f"e{number}", None, truth, **each))
        feed(event("x", None, **x))
        tick(feed, TIMEOUT + 1)
        for number, each in enumerate(asked):
            feed(event(f"asked {number}", None, **each), at_seconds=TIMEOUT + 1)
        feed(label("x", True), at_seconds=at)
    assert late.model.weights == at_once.model.weights
    assert late.model.bias == at_once.model.bias
    assert known(late) == known(at_once)
    assert late.counters.labels == {"timed_out": 1, "corrected": 1}
    assert at_once.counters.labels == {"timed_out": 1, "confirmed": 1}


@pytest.mark.parametrize(("at", "outcome"), [(END, "corrected"), (END + 0.001, "late")])
def test_label_corrects_up_to_the_bound_and_then_is_late(at, outcome):
    feed = feed_with()
    feed(event("a"))
    tick(feed, TIMEOUT + 1)
    feed(label("a", True), at_seconds=at)
    assert feed.counters.labels == {"timed_out": 1, outcome: 1} | (
        {"orphan": 1} if at > TIMEOUT * 2 + 1 else {}
    )
    assert list(feed.counters.unmatched_ids)[-1:] == (["a"] if outcome == "late" else ["tick"])


def test_corrections_follow_event_time_only():
    feed = feed_with()
    feed(event("a"), processing_time_ms=0)
    feed(label("b", True), at_seconds=1, processing_time_ms=1_000_000_000)
    assert feed.counters.labels == {}
    feed(label("a", True), at_seconds=TIMEOUT, processing_time_ms=2_000_000_000)
    assert feed.counters.labels == {"matched": 1}


def test_correction_can_be_corrected_where_the_model_can_undo():
    feed = feed_with()
    feed(event("a"))
    tick(feed, TIMEOUT + 1)
    for truth in (True, False, True, True):
        feed(label("a", truth), at_seconds=TIMEOUT + 2)
    assert feed.counters.labels == {"timed_out": 1, "corrected": 3, "duplicate": 1}
    assert feed.model.weights == {"text=x": 1.0}
    assert (feed.counters.mistakes, feed.counters.error_ratio()) == (0, 1.0)


def test_model_without_undo_cannot_revoke_a_real_label():
    feed = feed_with(model="arow")
    feed(event("a"))
    tick(feed, TIMEOUT + 1)
    for truth in (True, False):
        feed(label("a", truth), at_seconds=TIMEOUT + 2)
    assert feed.counters.labels == {"timed_out": 1, "corrected": 1, "rejected": 1}
    assert feed.counters.counts()["rejected_labels"] == feed.counters.totals().rejected_labels == 1
    assert feed.processor.join.examples["a"].truth is True


def test_early_labels_have_the_weights_of_the_fake_negative_loss():
    feed, model = feed_with(model="normalized-adagrad", unlabelled="at_timeout"), NormalizedAdaGrad()
    feed(event("z", "y", label=True))
    feed(event("a", "y"))
    tick(feed, TIMEOUT + 1)
    feed(label("a", True), at_seconds=TIMEOUT + 2)
    x = {"text=y": 1.0}
    model.learn_one(x, True)
    p = logistic(model.score_one(x))
    model.learn_one(x, False, 1.0 - p * p)
    model.learn_one(x, True, 1.0 + logistic(model.score_one(x)))
    assert feed.model.weights == model.weights


def test_rejected_correction_undoes_only_once():
    feed = feed_with("true")
    feed(event("a", "win"))
    tick(feed, TIMEOUT + 1)
    feed.processor.learner = RejectingLearner(feed.processor.learner, "learn")
    feed(label("a", False), at_seconds=TIMEOUT + 2)
    feed(label("a", False), at_seconds=TIMEOUT + 2)
    assert feed.counters.rejected.total() == 2
    assert feed.model.weights == {}


def test_provisional_labels_last_as_long_as_corrections():
    feed, restored, found = feed_with(), feed_with(), []
    for name, at in (("a", 0), ("b", 1), ("c", END + 1), ("d", 2 * END)):
        feed(event(name), at_seconds=at)
        restored.processor.restore(feed.processor.state())
        found += [(feed.processor.join.n_provisional, restored.processor.join.n_provisional)]
    assert found == [(0, 0), (0, 0), (1, 1), (1, 1)]
    feed(label("c", True), at_seconds=2 * END)
    assert feed.processor.join.n_provisional == 0


def test_event_evicted_before_its_correction_makes_the_label_late():
    feed = feed_with(max_pending=1)
    feed(event("a"))
    feed(event("b"), at_seconds=TIMEOUT + 1)
    feed(label("a", True), at_seconds=TIMEOUT + 2)
    assert feed.counters.labels == {"timed_out": 1, "late": 1}
    assert "evicted" not in feed.counters.counts()
    feed(event("c"), at_seconds=TIMEOUT + 4)
    assert feed.counters.counts()["evicted"] == 1


ids = st.sampled_from("abcdef")
steps = st.lists(
    st.tuples(
        st.integers(-8, 25),
        st.one_of(
            st.builds(event, ids, st.sampled_from(["win", "lose"]), st.sampled_from([None, None, True])),
            st.builds(label, ids, st.booleans()),
        ),
    ),
    max_size=30,
)
models = st.sampled_from(["perceptron", "arow", "normalized-adagrad"])


@given(steps, models)
def test_batch_boundaries_change_nothing(log, model):
    feed, now, records = feed_with(model=model), 100, []
    evaluation, given = Evaluation(), {"events": {"label_on_timeout": "false"}, "model": model}
    at_once = make_processor(settings(**GIVEN, **given), evaluation.observe)
    for step, message in log:
        now += step
        records.append(feed.record(message, at_seconds=now))
        feed.processor.process_batch(records[-1:])
    at_once.process_batch(records)
    assert pack(at_once.state()) == pack(feed.processor.state())
    counters = at_once.counters
    assert counters.mistakes + counters.revised == sum(
        n for (truth, predicted), n in counters.confusion.cells.items() if truth != predicted
    )
    shown = {(t, p): n for t, row in evaluation.confusion().items() for p, n in row.items() if n}
    assert sum(shown.values()) == counters.labelled
    if (auc := evaluation.ranking().get("auc")) is not None:
        assert auc == pytest.approx(counters.score_bins.pairs().auc(), abs=0.2)
