import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import log_loss

from service.lab.evaluation import Evaluation, summarise
from service.partition.examples import Correction
from tests.service.building import Feed, event, learned


def step(score, truth, predicted=None):
    predicted = score > 0 if predicted is None else predicted
    return predicted, truth, score


@given(st.lists(st.booleans(), min_size=1, max_size=50))
def test_last_label_baseline_repeats_the_last_label(truths):
    evaluation = Evaluation()
    for truth in truths:
        evaluation.observe(learned(step(1.0, truth)))
    found = evaluation.baselines()["last_label"]
    assert found["mistakes"] == 1 + sum(a != b for a, b in itertools.pairwise(truths))


def test_baselines_are_evaluated_on_corrected_labels():
    evaluation = Evaluation()
    found = learned(*[step(1.0, truth) for truth in (True, False, False)])
    found.corrections.append(Correction(3, True, 1.0, None, False, True, example=None))
    evaluation.observe(found)
    assert evaluation.baselines() == {
        "majority_class": {
            "mistakes": 1,
            "error_rate": pytest.approx(1 / 3),
            "auc": 0.5,
            "average_precision": pytest.approx(2 / 3),
        }
    }


def test_labels_in_one_batch_follow_each_other_as_in_several():
    one, several = Evaluation(), Evaluation()
    steps = [step(1.0, truth) for truth in (True, False, False, True)]
    one.observe(learned(*steps))
    several.observe(learned(*steps[:1]))
    several.observe(learned(*steps[1:]))
    assert one.baselines() == several.baselines()


@pytest.mark.parametrize("steps", [[], [step(1.0, True)], [step(1.0, "a", "b"), step(1.0, "b", "b")]])
def test_auc_is_omitted_where_undefined(steps):
    evaluation = Evaluation()
    evaluation.observe(learned(*steps))
    assert evaluation.ranking() == {}


@pytest.mark.parametrize(("names", "no", "yes"), [((), "false", "true"), (("spam", "ham"), "spam", "ham")])
def test_confusion_counts_truths_by_prediction_under_class_names(names, no, yes):
    evaluation = Evaluation(names)
    evaluation.observe(learned(step(1, True), step(1, False)))
    evaluation.observe(learned(step(1, False), step(-1, False)))
    assert evaluation.confusion() == {no: {no: 1, yes: 2}, yes: {no: 0, yes: 1}}


def test_summary_has_the_counts_of_the_run():
    evaluation, feed = Evaluation(), Feed()
    for message in (event("a", "win", label=True), event("b", "win", label=True), event("c"), b"junk"):
        feed(message)
    evaluation.observe(
        learned(*[(each.example.predicted, each.truth, each.example.score) for each in feed.steps])
    )
    summary = summarise(feed.processor, evaluation, seconds=2.0)
    assert summary.pop("classes")["true"].items() >= {"labelled": 2, "recall": 0.5, "precision": 1.0}.items()
    never, first = {"mistakes": 0, "error_rate": 0.0}, {"mistakes": 1, "error_rate": 0.5}
    assert summary.pop("baselines") == {"majority_class": never, "last_label": first}
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


def test_log_loss_equals_scikit_learn():
    feed = Feed(model="bayesian-logistic")
    for number in range(200):
        feed(event(str(number), f"w{number % 7} v{number % 3}", label=number % 7 < 3))
    summary = summarise(feed.processor, Evaluation(), 1.0)
    odds = [step.example.score for step in feed.steps]
    expected = log_loss([step.truth for step in feed.steps], [1 / (1 + math.exp(-each)) for each in odds])
    assert summary["log_loss"] == pytest.approx(expected)
