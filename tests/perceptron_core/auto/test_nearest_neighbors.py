"""`NearestNeighbors` as a learner of its own, and among those of `AutoClassifier`."""

import copy
import math
import pickle
import random

import numpy as np
import pytest

from perceptron_core import AutoClassifier, NearestNeighbors, to_bytes
from tests.perceptron_core.auto.laws import (
    KINDS,
    altered,
    check_a_copy_goes_on,
    check_a_prediction_changes_nothing,
    check_altered_state_is_refused_or_goes_on,
    check_explanations_add_up,
    check_it_goes_on_from_bytes,
    check_it_goes_on_from_bytes_as_columns_come_and_go,
    mistakes,
    taught,
)


def stream(n, n_classes=2, seed=1):
    """Make events of two numbers, a category and a text, some missing, of classes by patches of a plane."""
    draw, labels = random.Random(seed), KINDS[n_classes]
    for _ in range(n):
        x = {
            "a": draw.random(),
            "b": 100 * draw.random(),
            "kind": draw.choice("uvw"),
            "note": "see you at noon, in front of the old station",
        }
        y = labels[(int(3 * x["a"]) + int(x["b"] / 34)) % n_classes]
        if draw.random() < 0.1:
            del x[draw.choice(["a", "kind"])]
        yield x, y


def numbers(n, seed=1, n_classes=2):
    draw = random.Random(seed)
    for _ in range(n):
        x = {"a": draw.gauss(0, 1), "b": draw.gauss(5, 30)}
        yield x, KINDS[n_classes][int(x["a"] * x["b"] > 0) + int(x["b"] > 50) * (n_classes - 2)]


@pytest.mark.parametrize("n_classes", KINDS)
def test_it_computes_the_formula_of_its_documentation(n_classes):
    labels = KINDS[n_classes]
    model = NearestNeighbors(classes=labels)
    rows, classes, shares, seen = [], [], np.zeros(n_classes), np.zeros((0, 2))
    for number, (x, y) in enumerate(numbers(1100, n_classes=n_classes)):
        values = np.array([*x.values()])
        seen = np.vstack([seen, values])
        deviations = seen.std(axis=0)
        z = np.zeros(2) if number < 1 else np.clip((values - seen.mean(axis=0)) / deviations, -4, 4)
        if number > 1 and (number < 30 or number > 1050):
            squares = np.square(np.array(rows[-1000:]) - z).sum(axis=1)
            nearest = np.argsort(squares, kind="stable")[:10]
            scores = shares / shares.sum()
            for k in nearest:
                scores[classes[-1000:][k]] += 2 * (1 - 0.9 * math.sqrt(squares[k] / squares[nearest[-1]]))
            p = scores / scores.sum()
            with np.errstate(divide="ignore"):
                expected = np.clip(np.log(p) - np.log(1 - p), -8, 8)
            assert model.log_odds(x) == pytest.approx(expected, abs=1e-3)
        model.learn_one(x, y)
        rows.append(z)
        classes.append(labels.index(y))
        shares *= 0.998
        shares[labels.index(y)] += 1


@pytest.mark.parametrize("n_classes", KINDS)
def test_it_learns_patches(n_classes):
    model = NearestNeighbors()
    mistakes(model, stream(1000, n_classes))
    assert mistakes(model, stream(400, n_classes, seed=2)) < 0.2 * 400


def test_it_learns_from_categories_alone():
    draw, wrong = random.Random(2), 0
    model = NearestNeighbors()
    for _ in range(300):
        x = {"one": draw.choice("abc"), "other": draw.choice("abc"), "on": draw.random() < 0.5}
        y = x["one"] == x["other"]
        wrong += model.predict_one(x) != y
        model.learn_one(x, y)
    assert wrong < 50


@pytest.mark.parametrize("n_classes", KINDS)
@pytest.mark.parametrize("made", [NearestNeighbors, AutoClassifier])
@pytest.mark.parametrize("n", [300, 1030])
def test_it_goes_on_from_bytes_as_if_never_written(made, n_classes, n):
    check_it_goes_on_from_bytes(taught(made(), stream(n, n_classes)), stream(100, n_classes, seed=3))


def test_it_goes_on_from_bytes_when_columns_come_and_go():
    model, again = NearestNeighbors(max_columns=3), NearestNeighbors(max_columns=3)
    check_it_goes_on_from_bytes_as_columns_come_and_go(model, again, 1500, 250)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
def test_copies_go_on_as_the_original(copied):
    check_a_copy_goes_on(taught(NearestNeighbors(), stream(100)), copied, [*stream(100, seed=4)])


@pytest.mark.parametrize("made", [NearestNeighbors, AutoClassifier])
def test_a_prediction_changes_nothing(made):
    check_a_prediction_changes_nothing(made, stream(100), new=1.5, kind="q")


def test_a_class_may_come_late():
    model = taught(NearestNeighbors(), stream(300))
    for number, label in enumerate(["late", "later", "last"]):
        taught(model, [({"a": 5.0 + 9 * number + k / 100, "b": 0.0}, label) for k in range(30)])
        assert model.predict_one({"a": 5.15 + 9 * number, "b": 0.0}) == label


def test_events_without_features_are_answered_by_the_share_of_the_classes():
    model = taught(NearestNeighbors(), [({}, n % 3 > 0) for n in range(100)])
    assert model.predict_proba_one({})[True] > 0.5


def test_an_event_of_weight_counts_so_many_times():
    for weight, expected in ((1.0, False), (1000.0, True)):
        model = taught(NearestNeighbors(), [({"kind": "uv"[n % 2]}, n % 2 > 0) for n in range(40)])
        model.learn_one({"kind": "u"}, True, weight)
        assert model.predict_one({"kind": "u"}) is expected


def test_of_equally_near_events_the_last_vote():
    model = taught(NearestNeighbors(), [({"kind": "uv"[n % 2]}, n % 2 > 0) for n in range(400)])
    taught(model, [({"kind": "u"}, True)] * 10)
    assert model.predict_proba_one({"kind": "u"})[True] > 0.95


def test_its_state_is_bounded():
    model = taught(NearestNeighbors(), stream(1100))
    size = len(to_bytes(model))
    taught(model, stream(900, seed=5))
    assert len(to_bytes(model)) < 1.05 * size < 20_000


def test_low_effort_has_none():
    assert "neighbors" not in taught(AutoClassifier(effort="low"), stream(20)).groups


@pytest.mark.parametrize("n_classes", KINDS)
def test_an_explanation_adds_up(n_classes):
    model, events = taught(AutoClassifier(), stream(200, n_classes)), stream(20, n_classes, seed=7)
    check_explanations_add_up(model, events, lambda names: "nearest events" in names)


@pytest.mark.parametrize("name", ["n_events", "shares", "labels", "weights", "rows"])
def test_altered_neighbours_are_refused_or_go_on(name):
    others = [-1, 0, 79, 81, 5000, 1.5] if name == "n_events" else [-1.0, 1e61, math.nan, 3.0, "x"]

    def alter(old, draw):
        return draw.choice(others) if name == "n_events" else altered(old, draw, others)

    model = taught(NearestNeighbors(), stream(80, 3))
    events = [*stream(10, 3, seed=6)]
    check_altered_state_is_refused_or_goes_on(model, "neighbors", name, alter, events, times=30)
