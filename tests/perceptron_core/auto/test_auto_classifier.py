"""`AutoClassifier` on events of any kind."""

import random

import pytest

from perceptron_core import FeatureError
from perceptron_core.auto.auto_classifier import AutoClassifier


def mistakes(model, stream):
    wrong = 0
    for x, y in stream:
        wrong += model.predict_one(x) != y
        model.learn_one(x, y)
    return wrong


def test_it_learns_a_circle_of_two_numbers():
    draw = random.Random(3)
    points = [{"a": draw.gauss(0, 1), "b": draw.gauss(0, 1)} for _ in range(1500)]
    stream = [(x, x["a"] ** 2 + x["b"] ** 2 < 1.2) for x in points]
    assert mistakes(AutoClassifier(), stream) < 150


def test_it_learns_from_categories_and_booleans_and_texts():
    draw = random.Random(4)
    stream = []
    for _ in range(300):
        y = draw.random() < 0.5
        colour = draw.choice(["red", "dark red"] if y else ["blue", "pale blue"])
        stream.append(({"colour": colour, "seen": draw.random() < 0.5, "note": "as it is"}, y))
    assert mistakes(AutoClassifier(), stream) < 20


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 1e101, [1], {"a": 1}, "a\ud800bcd"])
def test_it_refuses_what_is_no_value(value):
    model = AutoClassifier()
    with pytest.raises(FeatureError, match="feature 'odd'"):
        model.learn_one({"odd": value}, True)
    assert model.n_updates == 0
