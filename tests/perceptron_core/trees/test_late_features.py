"""Features that join, and values that take the code of others, while trees grow."""

import random

import pytest

from perceptron_core import HoeffdingForest, NearestNeighbors, from_bytes, to_bytes
from perceptron_core.trees import N_TREES
from perceptron_core.trees.categories import OTHER
from tests.perceptron_core.auto.laws import check_it_goes_on_from_bytes, mistakes, taught


def late(n, n_before, seed=1):
    """Make events whose class is the sign of a number that the first ones lack, and noise."""
    draw = random.Random(seed)
    for k in range(n):
        a = draw.gauss(0, 1)
        yield ({"z": draw.gauss(0, 1)} | ({"a": a} if k >= n_before else {})), a > 0


def test_split_trees_learn_a_late_feature():
    events = [*late(3000, 1000)]
    model = taught(HoeffdingForest(), events[:1000])
    assert model.maps.trees.n_slots > N_TREES
    wrong = 0
    for k, (x, y) in enumerate(events[1000:]):
        wrong += k >= 1000 and model.predict_one(x) != y
        model.learn_one(x, y)
    assert wrong < 0.03 * 1000


def test_trees_learn_a_category_that_appears_after_splits():
    draw = random.Random(1)
    numbers = [draw.randrange(50) for _ in range(1500)]
    events = [({"n": draw.gauss(0, 1), "c": f"v{k}"}, k % 2 == 0) for k in numbers]
    model = taught(HoeffdingForest(), events[:1000])
    assert sum(model.predict_one(x) != y for x, y in events[1000:]) < 0.03 * 500


def test_tree_takes_the_same_share_of_late_features():
    draw = random.Random(7)
    numbers = [[draw.gauss(0, 1) for _ in range(30)] for _ in range(600)]
    rows = [{f"x{k}": x[k] for k in range(30 if n >= 300 else 10)} for n, x in enumerate(numbers)]
    trees = taught(HoeffdingForest(), ((x, x["x0"] > 0) for x in rows)).maps.trees
    widths = [len(features) for features in trees.get_state()["features"]]
    assert len({*widths}) > 1
    assert 15 < sum(widths) / len(widths) < 23  # .6 · 30 + 1 = 19 of a tree that is begun with all


def test_model_from_bytes_continues_while_features_appear():
    model = taught(HoeffdingForest(), late(500, 400))
    check_it_goes_on_from_bytes(model, late(300, 100, seed=2))
    for k in range(3):
        again = from_bytes(to_bytes(model))
        x = {"z": 0.5, "a": -0.1, f"b{k}": 1.5}
        for _ in range(40):
            model.learn_one(x, True)
            again.learn_one(x, True)
        assert to_bytes(again) == to_bytes(model)


def tickets(n, *, day, seed=1):
    """Make events whose class is whether the number of a ticket is even; each day has 40 others."""
    draw = random.Random(seed)
    for _ in range(n):
        k = draw.randrange(40)
        yield {"ticket": f"{day}-{k}", "n": draw.gauss(0, 1)}, k % 2 == 0


@pytest.mark.parametrize("made", [HoeffdingForest, NearestNeighbors])
def test_values_not_seen_for_long_are_evicted(made):
    model = made()
    for day in range(3):
        taught(model, tickets(1900, day=day))
    assert mistakes(model, tickets(400, day=2, seed=2)) < 0.05 * 400


def test_unique_values_at_the_start_do_not_prevent_a_category():
    model = taught(HoeffdingForest(), (({"ticket": f"once {k}"}, k % 3 == 0) for k in range(100)))
    taught(model, tickets(3500, day=0))
    assert mistakes(model, tickets(400, day=0, seed=2)) < 0.05 * 400


def test_recently_seen_value_keeps_its_code():
    model = HoeffdingForest()
    for n in range(5000):
        model.learn_one({"c": "often" if n % 100 == 0 else f"{n // 7}"}, n % 2 == 0)
        categories = model.maps.categories
        assert categories.codes[0]["often"] == 1
    assert len(categories.codes[0]) == len(categories.lasts[0]) == OTHER - 1
    assert sorted(categories.codes[0].values()) == [*range(1, OTHER)]


def test_model_from_bytes_continues_while_values_are_evicted():
    model = taught(HoeffdingForest(), tickets(1200, day=0))
    check_it_goes_on_from_bytes(taught(model, tickets(500, day=1)), tickets(800, day=2))
