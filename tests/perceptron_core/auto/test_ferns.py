"""`Ferns` as a learner of its own."""

import copy
import pickle
import random

import pytest

from perceptron_core import AutoClassifier, Ferns, NormalizedAdaGrad, to_bytes
from tests.perceptron_core.auto.laws import (
    KINDS,
    check_a_copy_goes_on,
    check_a_prediction_changes_nothing,
    check_explanations_add_up,
    check_it_goes_on_from_bytes,
    check_it_goes_on_from_bytes_as_columns_come_and_go,
    mistakes,
    taught,
)
from tests.perceptron_core.auto.test_hoeffding_forest import stream

N_FERNS, DEPTH = 200, 8


def cells(model, x):
    """Return the cell of each fern that an event falls into."""
    model.log_odds(x)
    slots = [slot for slot, value in model.maps.ferns.x.entries() if value == 1.0]
    assert [slot >> DEPTH for slot in slots] == [*range(N_FERNS)]
    return [slot % (1 << DEPTH) for slot in slots]


def answers(model, x):
    """Return the answers of all tests to an event."""
    return [cell >> k & 1 for cell in cells(model, x) for k in range(DEPTH)]


def numbers(n, names, seed=1):
    draw = random.Random(seed)
    return [({name: draw.gauss(0, 1) for name in names}, k % 2 > 0) for k in range(n)]


def test_its_answer_is_that_of_normalized_adagrad_on_the_cells():
    model, expected = Ferns(), NormalizedAdaGrad()
    for number, (x, y) in enumerate(stream(300)):
        shown = dict.fromkeys(enumerate(cells(model, x)), 1.0) if number else {}
        assert model.score_one(x) == max(-8.0, min(expected.score_one(shown), 8.0))
        model.learn_one(x, y)
        expected.learn_one(shown, y)


@pytest.mark.parametrize("n_classes", KINDS)
def test_it_learns_thresholds_and_categories_together(n_classes):
    model = taught(Ferns(), stream(1200, n_classes))
    assert mistakes(model, stream(400, n_classes, seed=2)) < 0.12 * 400


def test_a_test_of_a_number_asks_for_a_threshold():
    model = taught(Ferns(), numbers(400, "a"))
    shares = [sum(answers(model, {"a": z / 4})) / (N_FERNS * DEPTH) for z in range(-40, 41)]
    assert shares == sorted(shares)
    assert shares[0] == 0.0
    assert shares[40] == pytest.approx(0.5, abs=0.06)
    assert shares[-1] == 1.0


def test_a_test_of_a_category_asks_for_half_of_the_values():
    draw = random.Random(2)
    model = taught(Ferns(), [({"kind": draw.choice("uvwxyz")}, k % 2 > 0) for k in range(40)])
    answered = [answers(model, {"kind": kind}) for kind in "uvwxyz"]
    for one in answered:
        assert sum(one) / len(one) == pytest.approx(0.5, abs=0.06)
        for other in answered:
            shared = sum(a == b for a, b in zip(one, other, strict=True)) / len(one)
            assert one is other or shared == pytest.approx(0.5, abs=0.06)


def test_tests_are_drawn_from_all_features_alike():
    names = "abcd"
    model = taught(Ferns(), numbers(400, names))
    low = dict.fromkeys(names, -10.0)
    for name in names:
        asked = sum(answers(model, {**low, name: 10.0}))
        assert asked / (N_FERNS * DEPTH) == pytest.approx(1 / len(names), abs=0.05)


def test_the_order_of_features_makes_no_difference():
    one, other = Ferns(), Ferns()
    for x, y in stream(200):
        turned = dict(reversed(x.items()))
        assert one.log_odds(x) == other.log_odds(turned)
        one.learn_one(x, y)
        other.learn_one(turned, y)


def test_another_seed_draws_other_tests():
    one, other = (taught(Ferns(seed=seed), numbers(50, "ab")) for seed in (1, 2))
    assert cells(one, {"a": 0.1, "b": -0.2}) != cells(other, {"a": 0.1, "b": -0.2})


def test_a_feature_that_comes_and_goes_alters_only_the_tests_about_it():
    without, model = Ferns(), Ferns()
    for number, (x, y) in enumerate(numbers(300, "ab")):
        without.learn_one(x, y)
        model.learn_one({**x, "c": number % 7} if 20 <= number < 60 else x, y)
        if number == 59:
            changed = [a != b for a, b in zip(answers(model, x), answers(without, x), strict=True)]
            assert 0.05 < sum(changed) / len(changed) < 0.25
    assert "c" not in model.maps.columns.numbers
    assert answers(model, x) == answers(without, x)


@pytest.mark.parametrize("n_classes", KINDS)
def test_it_goes_on_from_bytes_as_if_never_written(n_classes):
    check_it_goes_on_from_bytes(taught(Ferns(), stream(200, n_classes)), stream(100, n_classes, seed=3))


def test_it_goes_on_from_bytes_when_columns_come_and_go():
    check_it_goes_on_from_bytes_as_columns_come_and_go(Ferns(max_columns=3), Ferns(max_columns=3), 800, 150)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
def test_copies_go_on_as_the_original(copied):
    check_a_copy_goes_on(taught(Ferns(), stream(100)), copied, [*stream(100, seed=4)])


def test_a_prediction_changes_nothing():
    check_a_prediction_changes_nothing(Ferns, stream(100), new=1.5, kind="q")


def test_a_class_may_come_late():
    model = taught(Ferns(), stream(300))
    taught(model, [({"a": 5.0 + k / 100, "b": 0.0}, "late") for k in range(100)])
    assert model.predict_one({"a": 6.0, "b": 0.0}) == "late"


def test_events_without_features_are_answered_by_the_share_of_the_classes():
    model = taught(Ferns(), [({}, n % 3 > 0) for n in range(100)])
    assert model.predict_proba_one({})[True] > 0.5


@pytest.mark.parametrize(("n_classes", "n_learners"), [(2, 1), (3, 3)])
def test_its_state_has_a_bound_for_each_learner(n_classes, n_learners):
    model = taught(Ferns(), stream(400, n_classes))
    assert len(to_bytes(model)) < n_learners * 3 * 8 * N_FERNS * 2**DEPTH + 5_000


def test_before_a_feature_is_in_use_it_is_small():
    texts = [({"note": "see you at noon, in front of the old station"}, n % 2 > 0) for n in range(30)]
    assert len(to_bytes(taught(Ferns(), texts))) < 2_000


def test_what_is_written_twice_is_the_same():
    model = taught(Ferns(), [({"a": 1.5}, True)])
    assert to_bytes(model) == to_bytes(model)


def test_auto_has_none():
    assert "ferns" not in taught(AutoClassifier(), stream(20)).groups


@pytest.mark.parametrize("n_classes", KINDS)
def test_an_explanation_adds_up(n_classes):
    model, events = taught(Ferns(), stream(200, n_classes)), stream(20, n_classes, seed=7)
    check_explanations_add_up(model, events, lambda names: names == ["ferns"])
