"""The boosted trees among the learners of `AutoClassifier`."""

import functools
import random
import zlib
from array import array
from collections import Counter, deque

import pytest

from perceptron_core import AutoClassifier, from_bytes, to_bytes
from tests.perceptron_core.auto.laws import (
    KINDS,
    check_altered,
    check_explanations_add_up,
    check_it_goes_on_from_bytes,
    taught,
    thresholds,
)
from tests.support.example_counts import n_examples

NAME = "boosted trees: RefittedVote"


def state_of(model):
    return model._get_state()["maps"]["boosted"]


def boxes(n, seed=1, flipped_from=10**9):
    """Make events of four numbers whose class is that of a box, the other one from an event on."""
    draw = random.Random(seed)
    for k in range(n):
        x = {name: draw.random() for name in "abcd"}
        y = (x["a"] > 0.5) ^ (x["b"] > 0.3) ^ (x["c"] > 0.6)
        yield x, y if k < flipped_from else not y


def cells(n, seed=1):
    """Make events of three numbers, two of which decide about twelve classes."""
    draw = random.Random(seed)
    for _ in range(n):
        x = {name: draw.random() for name in "abc"}
        yield x, 3 * int(4 * x["a"]) + int(3 * x["b"])


def learned_late(model, events, delay, predict):
    """Learn each event so many events later; return which predictions were wrong."""
    waiting, wrongs = deque(), []
    for x, y in events:
        wrongs.append(predict(x) not in {None, y})
        waiting.append((x, y, 1.0, model.prediction_context()))
        if len(waiting) > delay:
            model.learn_one(*waiting.popleft())
    return wrongs


def mistakes_of(model, name=NAME):
    return {each.name: each.mistakes for each in model.experts}.get(name, 0)


def model_within_a_refit(n_classes):
    """Return a model that has grown some of the trees of a refit."""
    return from_bytes(bytes_within_a_refit(n_classes))


@functools.cache
def bytes_within_a_refit(n_classes):
    model = AutoClassifier(max_columns=4)
    for x, y in thresholds(2000, n_classes):
        model.learn_one(x, y)
        state = state_of(model)
        if state["trees"][1]["links"] and "refit" in state and state["refit"][3]["links"]:
            return to_bytes(model)
    raise AssertionError("no refit takes several events")


@pytest.mark.parametrize("n_classes", [*KINDS, 12])
def test_a_model_restored_at_any_event_continues_unchanged(n_classes):
    model = again = AutoClassifier(max_columns=4)
    within = 0
    for turn, (x, y) in enumerate(thresholds(550, n_classes) if n_classes in KINDS else cells(400)):
        if turn % 25 == 0 or "refit" in state_of(model):
            data = to_bytes(model)
            assert to_bytes(again) == data
            again = from_bytes(data)
            within += "refit" in state_of(again)
        assert again.log_odds(x) == model.log_odds(x)
        model.learn_one(x, y)
        again.learn_one(x, y)
    assert to_bytes(again) == to_bytes(model)
    assert within > 10


@pytest.mark.parametrize("n_classes", KINDS)
def test_within_a_refit_a_late_label_replaces_the_class_learned_early(n_classes):
    model, labels = model_within_a_refit(n_classes), KINDS[n_classes]
    before = state_of(model)
    for x, y in [*thresholds(before["counts"][0], n_classes)][-20:-15]:
        model.learn(x, labels[labels.index(y) - 1], 3.0, b"", 2.0)
    after = state_of(model)
    assert after["counts"] == before["counts"]
    assert after["columns"] != before["columns"]
    check_it_goes_on_from_bytes(model, thresholds(100, n_classes, seed=4))


@pytest.mark.parametrize("n_classes", KINDS)
def test_within_a_refit_a_late_label_may_be_a_new_class(n_classes):
    model = model_within_a_refit(n_classes)
    x, _ = [*thresholds(state_of(model)["counts"][0], n_classes)][-20]
    model.learn(x, "new", 3.0, b"", 2.0)
    check_it_goes_on_from_bytes(model, thresholds(100, n_classes, seed=4))


@pytest.mark.parametrize(("n_classes", "has_trees"), [(60, True), (61, False)])
def test_trees_are_grown_for_at_most_sixty_classes(n_classes, has_trees):
    model = taught(AutoClassifier([*range(n_classes)]), cells(50))
    assert ("refit" in state_of(model)) == has_trees


def test_refit_begins_again_when_a_column_is_removed():
    model, draw, ends = AutoClassifier(), random.Random(1), []
    for turn in range(90):  # three of four lack b after the 84th
        x = {name: draw.random() for name in ("abc" if turn < 21 else "ac")}
        again = from_bytes(to_bytes(model))
        assert again.log_odds(x) == model.log_odds(x)
        for each in (model, again):
            each.learn_one(x, x["a"] > 0.5)
        assert to_bytes(again) == to_bytes(model)
        ends.append(state_of(model)["refit"][0][1] if "refit" in state_of(model) else None)
    assert ends[82:86] == [None, 84, None, 86]


@pytest.mark.parametrize("events", [boxes, cells])
def test_trees_are_the_best_learner_of_interactions(events):
    model = taught(AutoClassifier(), events(2000))
    before = {each.name: each.mistakes for each in model.experts}
    taught(model, events(1000, seed=2))
    later = {each.name: each.mistakes - before[each.name] for each in model.experts}
    assert min(later, key=later.__getitem__) == NAME
    assert later[NAME] < 50


def test_after_an_abrupt_drift_the_events_before_are_dropped():
    model = taught(AutoClassifier(), boxes(3000, flipped_from=2400))
    before = mistakes_of(model)
    taught(model, boxes(500, seed=2, flipped_from=0))
    assert state_of(model)["counts"][1] > 2300
    assert mistakes_of(model) - before < 75


@pytest.mark.parametrize("delay", [0, 500])
def test_without_drift_no_event_is_dropped(delay):
    model = AutoClassifier()
    learned_late(model, boxes(3000), delay, model.predict_one)
    assert state_of(model)["counts"][:2] == [3000 - delay, 0]


def test_late_labels_from_before_a_drift_do_not_delay_its_end():
    model = AutoClassifier()
    wrongs = learned_late(model, boxes(3300, flipped_from=2400), 500, model.predict_one)
    assert sum(wrongs[2900:]) < 130


def test_trees_are_evaluated_on_their_scores_at_prediction():
    model = AutoClassifier()

    def predict(x):
        model.predict_one(x)
        names = model.ensembles[0].names if model.ensembles else []
        return model.ensembles[0].score_of(names.index(NAME))[1] > 0 if NAME in names else None

    wrongs = learned_late(model, boxes(1200), 100, predict)
    assert mistakes_of(model) == sum(wrongs[:-100]) > 0


@pytest.mark.parametrize("n_classes", KINDS)
def test_explanations_add_up_for_several_effects_of_trees(n_classes):
    model = taught(AutoClassifier(), thresholds(600, n_classes))
    assert model.ensembles[0].names[-1] == NAME
    check_explanations_add_up(model, thresholds(20, n_classes, seed=7))


def test_an_explanation_by_trees_names_the_columns_that_they_test():
    model, sizes = taught(AutoClassifier(), boxes(1500)), Counter()
    for x, _ in boxes(100):
        model.log_odds(x)
        sizes.update({name: abs(size) for name, size in model.maps.boosted_contributions(1).items()})
    assert {*sizes} == {*"abcd"}
    assert 2 * sizes["d"] < min(sizes[name] for name in "abc")


@pytest.mark.parametrize("name", ["counts", "errors", "trees", "refit", "columns"])
@pytest.mark.parametrize("n_classes", KINDS)
def test_an_altered_state_of_a_refit_is_rejected_or_works(n_classes, name):
    model, events = model_within_a_refit(n_classes), thresholds(30, n_classes, seed=6)
    alterations = [with_another_number] if name == "columns" else []
    check_altered(model, ("boosted", name), events, n_examples(100), *alterations)


def with_another_number(data, draw):
    numbers = array("f", zlib.decompress(data))
    at = draw.randrange(len(numbers))
    numbers[at] = draw.choice(
        [float("nan"), float("inf"), -float("inf"), 1e38, -1e38, 64.0, -1.0, 0.5, 2.0, 3.4e38]
    )
    return zlib.compress(numbers.tobytes())
