"""`NearestNeighbors` as a learner of its own, and among those of `AutoClassifier`."""

import math
import random

import numpy as np
import pytest

from perceptron_core import NearestNeighbors, from_bytes, to_bytes
from tests.perceptron_core.auto.laws import KINDS, patches, taught


def numbers(n, seed=1, n_classes=2):
    draw = random.Random(seed)
    for _ in range(n):
        x = {"a": draw.gauss(0, 1), "b": draw.gauss(5, 30), **{f"c{k}": draw.gauss(0, 2) for k in range(10)}}
        yield x, KINDS[n_classes][int(x["a"] * x["b"] > 0) + int(x["b"] > 50) * (n_classes - 2)]


@pytest.mark.parametrize("n_classes", KINDS)
def test_learner_computes_its_documented_formula(n_classes):
    labels = KINDS[n_classes]
    model = NearestNeighbors(classes=labels)
    rows, classes, shares, seen = [], [], np.zeros(n_classes), np.zeros((0, 12))
    for number, (x, y) in enumerate(numbers(1100, n_classes=n_classes)):
        values = np.array([*x.values()])
        seen = np.vstack([seen, values])
        deviations = seen.std(axis=0)
        z = np.zeros(12) if number < 1 else np.clip((values - seen.mean(axis=0)) / deviations, -4, 4)
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


def test_neighbors_learn_classes_that_appear_late():
    model = taught(NearestNeighbors(), patches(300))
    for number, label in enumerate(["late", "later", "last"]):
        taught(model, [({"a": 5.0 + 9 * number + k / 100, "b": 0.0}, label) for k in range(30)])
        assert model.predict_one({"a": 5.15 + 9 * number, "b": 0.0}) == label


def test_weight_of_an_event_multiplies_its_vote():
    for weight, expected in ((1.0, False), (1000.0, True)):
        model = taught(NearestNeighbors(), [({"kind": "uv"[n % 2]}, n % 2 > 0) for n in range(40)])
        model.learn_one({"kind": "u"}, True, weight)
        assert model.predict_one({"kind": "u"}) is expected


def test_latest_of_equally_near_events_vote():
    model = taught(NearestNeighbors(), [({"kind": "uv"[n % 2]}, n % 2 > 0) for n in range(400)])
    taught(model, [({"kind": "u"}, True)] * 10)
    assert model.predict_proba_one({"kind": "u"})[True] > 0.95


def test_state_is_bounded():
    model = taught(NearestNeighbors(), patches(1100))
    size = len(to_bytes(model))
    taught(model, patches(900, seed=5))
    assert len(to_bytes(model)) < 1.05 * size < 20_000


def test_order_of_features_changes_no_bit_of_a_score():
    rng = random.Random(5)
    plain, shuffled = NearestNeighbors(), NearestNeighbors()
    names = [f"n{number}" for number in range(7)]
    for count in range(400):
        event = {name: rng.gauss(0, 1) for name in names} | {
            "kind": rng.choice("abc"),
            "place": rng.choice("xy"),
        }
        if count > 50:
            event["late"] = rng.gauss(0, 1)
        label = event["n0"] + event["n1"] * event["n2"] > 0.3
        other = dict(rng.sample([*event.items()], len(event)))
        assert plain.predict_proba_one(event) == shuffled.predict_proba_one(other)
        plain.learn_one(event, label)
        shuffled.learn_one(other, label)
        if count % 100 == 60:
            shuffled = from_bytes(to_bytes(shuffled))
