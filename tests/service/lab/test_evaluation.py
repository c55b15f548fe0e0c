import math
import random

import pytest
from sklearn.metrics import log_loss, roc_auc_score

from service.lab.evaluation import Evaluation, summarise
from service.partition.examples import LearnedExamples
from service.partition.processed import Step
from tests.service.building import Feed, event


def step(score, truth, predicted=None):
    predicted = score > 0 if predicted is None else predicted
    return Step("a", {}, score, predicted, truth, predicted != truth, updates=0)


def test_auc_is_that_of_scikit_learn_ties_included():
    rng = random.Random(7)
    pairs = [(rng.choice([-1.5, 0.0, 0.5, 2.0]), rng.random() < 0.3) for _ in range(500)]
    evaluation = Evaluation()
    evaluation.observe(LearnedExamples([step(score, truth) for score, truth in pairs]))
    assert evaluation.auc() == pytest.approx(roc_auc_score([t for _, t in pairs], [s for s, _ in pairs]))


@pytest.mark.parametrize("steps", [[], [step(1.0, True)], [step(1.0, "a", "b"), step(1.0, "b", "b")]])
def test_auc_is_left_out_where_it_means_nothing(steps):
    evaluation = Evaluation()
    evaluation.observe(LearnedExamples(steps))
    assert evaluation.auc() is None


def test_confusion_is_truth_by_prediction():
    evaluation = Evaluation()
    evaluation.observe(LearnedExamples([step(1, True), step(1, False)]))
    evaluation.observe(LearnedExamples([step(1, False), step(-1, False)]))
    assert evaluation.confusion() == {"false": {"false": 1, "true": 2}, "true": {"false": 0, "true": 1}}


def test_confusion_knows_the_classes_by_their_names():
    evaluation = Evaluation(("spam", "ham"))
    evaluation.observe(LearnedExamples([step(1, True), step(1, False)]))
    assert evaluation.confusion() == {"spam": {"spam": 0, "ham": 1}, "ham": {"spam": 0, "ham": 1}}


def test_the_summary_counts_what_happened():
    evaluation, feed = Evaluation(), Feed()
    for message in (event("a", "win", label=True), event("b", "win", label=True), event("c"), b"junk"):
        feed(message)
    evaluation.observe(LearnedExamples(feed.steps))
    summary = summarise(feed.counters, feed.processor.learner, evaluation, seconds=2.0)
    assert summary.pop("confusion") == {"false": {"false": 0, "true": 0}, "true": {"false": 1, "true": 1}}
    assert summary == {
        "events": 3,
        "labelled": 2,
        "mistakes": 1,
        "updates": 1,
        "error_rate": 0.5,
        "rejected": 1,
        "rejected_by_reason": {"invalid_json": 1},
        "seconds": 2.0,
        "events_per_second": 1.5,
        "weights_nonzero": 1,
        "bias": 1.0,
    }


def test_the_log_loss_is_that_of_scikit_learn():
    feed = Feed(model="bayesian-logistic")
    for number in range(200):
        feed(event(str(number), f"w{number % 7} v{number % 3}", label=number % 7 < 3))
    summary = summarise(feed.counters, feed.processor.learner, Evaluation(), 1.0)
    odds = [step.score for step in feed.steps]
    expected = log_loss([step.truth for step in feed.steps], [1 / (1 + math.exp(-each)) for each in odds])
    assert summary["log_loss"] == pytest.approx(expected)


def test_calibration_is_left_out_of_the_summary_of_a_model_without_log_odds():
    feed = Feed()
    feed(event("a", "win", label=True))
    summary = summarise(feed.counters, feed.processor.learner, Evaluation(), 1.0)
    assert not {"log_loss", "expected_calibration_error"} & summary.keys()
