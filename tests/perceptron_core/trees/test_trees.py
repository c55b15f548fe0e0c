"""Trees that grow online, by what `HoeffdingForest` shows of them."""

import math
import random

import pytest

from perceptron_core import HoeffdingForest, from_bytes, to_bytes
from perceptron_core.trees import MAX_NODES, N_BINS, N_PARTS, N_TREES, leaves
from perceptron_core.trees.trees import RATE, mixed, poisson
from tests.perceptron_core.auto.laws import check_it_goes_on_from_bytes


def grown(events, **options):
    model = HoeffdingForest(**options)
    for x, y in events:
        model.learn_one(x, y)
    return model


def halves(n, seed=1):
    """Make events whose class is whether one of two numbers is above a half."""
    draw = random.Random(seed)
    for _ in range(n):
        x = {"a": draw.random(), "b": draw.random()}
        yield x, x["a"] > 0.5


def test_trees_split_at_the_class_boundary():
    model = grown(halves(400))
    assert model.maps.trees.n_slots > N_TREES
    x = {"a": 0.9, "b": 0.5}
    terms, _ = model.explain(x, 1)
    by_name = {term.name: term.contribution for term in terms}
    assert by_name["a"] > abs(by_name.get("b", 0.0))


def test_explanation_adds_up_to_the_log_odds():
    model = grown(halves(300))
    x = {"a": 0.2, "b": 0.7}
    terms, intercept = model.explain(x, 1)
    assert intercept + sum(term.contribution for term in terms) == pytest.approx(model.log_odds(x)[1])


def test_no_tree_splits_before_a_leaf_has_seen_100_weights():
    draw = random.Random(2)
    model = grown(({"a": draw.random()}, draw.random() < 0.5) for _ in range(10))
    assert model.maps.trees.n_slots == N_TREES


def test_values_of_a_category_are_split_in_any_two_parts():
    draw = random.Random(3)
    events = []
    for _ in range(1500):
        value = draw.choice("abcdefghij")
        events.append(({"kind": value, "n": draw.random()}, (value in "acegi") != (draw.random() < 0.05)))
    model = grown(events[:1000])
    wrong = sum(model.predict_one(x) != y for x, y in events[1000:])
    assert wrong < 0.1 * 500


def test_trees_are_regrown_when_classes_change_their_meaning():
    model = grown([*halves(1500), *((x, not y) for x, y in halves(600, seed=4))])
    assert model.maps.trees.n_regrown > 0
    assert model.predict_one({"a": 0.9, "b": 0.5}) is False


def test_trees_separate_classes_within_one_bin():
    model = HoeffdingForest()
    for x, y in halves(1500):
        model.learn_one({**x, "a": x["a"] - 0.5}, y)
    width = 2 * 0.29 / N_BINS  # of the bins next to the mean, of which the one above it begins there
    log_odds = {model.log_odds({"a": width * (k + 1) / N_PARTS, "b": 0.5})[1] for k in range(N_PARTS // 2)}
    assert len(log_odds) > 2


@pytest.mark.slow
def test_tree_never_exceeds_its_maximum_of_nodes():
    draw = random.Random(5)
    events = (({"a": draw.random(), "b": draw.random()}, 0) for _ in range(30_000))
    model = grown((x, int(x["a"] * 40) % 2 != int(x["b"] * 40) % 2) for x, _ in events)
    assert model.maps.trees.n_slots <= N_TREES * MAX_NODES


def test_late_class_keeps_leaves_within_their_limit(monkeypatch):
    monkeypatch.setattr(leaves, "MAX_CELLS", 32 * 64 * 2 * 2)
    draw = random.Random(6)
    model, shapes = HoeffdingForest(), set()
    for n in range(2500):
        x = {"a": draw.random(), "b": draw.random()}
        late = n // 500 if n >= 1500 and x["a"] > 0.9 else 0
        model.learn_one(x, late or int(x["a"] * 8) % 2)
        counted = model.maps.trees.leaves
        shapes.add((counted.n_features, counted.n_classes))
        assert counted.n_blocks * counted.n_features * 64 * counted.n_classes <= leaves.MAX_CELLS
    assert shapes == {(0, 2), (2, 2), (1, 3), (1, 4)}
    again = from_bytes(to_bytes(model))
    assert again.log_odds(x) == model.log_odds(x)


def test_different_seeds_grow_different_trees():
    events = [*halves(400)]
    one, two = grown(events, seed=1), grown(events, seed=2)
    assert one.log_odds({"a": 0.52, "b": 0.1}) != two.log_odds({"a": 0.52, "b": 0.1})


def test_loaded_model_regrows_trees_on_the_same_features():
    model = grown(halves(1500))
    check_it_goes_on_from_bytes(model, ((x, not y) for x, y in halves(600, seed=4)))
    assert model.maps.trees.n_regrown > 0


N = 4000


def test_weights_have_the_mean_and_the_variance_of_their_distribution():
    drawn = [poisson(place) for place in range(N)]
    mean = sum(drawn) / N
    variance = sum((each - mean) ** 2 for each in drawn) / N
    assert mean == pytest.approx(RATE, abs=5 * math.sqrt(RATE / N))
    assert variance == pytest.approx(RATE, rel=0.15)


def test_mixed_bits_are_set_half_of_the_time():
    drawn = [mixed(place) for place in range(N)]
    for bit in range(32):
        share = sum(each >> bit & 1 for each in drawn) / N
        assert share == pytest.approx(0.5, abs=5 * 0.5 / math.sqrt(N))


def test_numbers_differing_in_the_upper_half_have_distinct_hashes():
    assert len({mixed(place << 32) for place in range(N)}) > 0.99 * N
