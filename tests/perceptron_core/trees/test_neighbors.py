"""The nearest events are the same in whatever order an event has its features."""

import random

from perceptron_core import NearestNeighbors, from_bytes, to_bytes


def test_the_order_of_features_changes_no_bit_of_an_answer():
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
