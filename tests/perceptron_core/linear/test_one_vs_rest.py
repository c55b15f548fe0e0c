"""Learners that see an event together know what each would know by itself, to the bit."""

import random

import pytest

from perceptron_core import AutoClassifier
from perceptron_core.auto.experts import dense_experts

_BITS = 10


def alone():
    """Make the learners of a class, each with its map."""
    return [(number, rule.hashed(_BITS)) for number, rule in dense_experts()]


class Class:
    """What the learners of a class know, and what learners know that are shown the same."""

    def __init__(self, ensemble):
        self.twins = alone()
        maps = {number for number, _ in self.twins}
        self.own = [k for k in range(ensemble.n) if ensemble.map_of(k) in maps]

    def check_scores(self, model, ensemble):
        for k, (number, twin) in zip(self.own, self.twins, strict=True):
            x = dict(model.maps.examples[number].entries())
            assert ensemble.score_of(k)[0].hex() == twin.score_one(x).hex()

    def learn(self, model, is_class, w):
        for number, twin in self.twins:
            twin.learn_one(dict(model.maps.examples[number].entries()), is_class, w)

    def check_state(self, ensemble):
        for k, (_, twin) in zip(self.own, self.twins, strict=True):
            rule = ensemble.rules[k]
            for name in ("bias", "n_mistakes", "n_updates"):
                assert getattr(rule, name) == getattr(twin, name)
            assert rule.table.dump(1 << 8) == twin.table.dump(1 << 8)


@pytest.mark.parametrize("n_classes", [3, 4, 9])
def test_late_class_has_learned_earlier_examples_as_negatives(n_classes):
    model, known = AutoClassifier(max_columns=4), {}
    chance = random.Random(n_classes)
    for x, y in (({"a": 0.5, "b": 1.5}, 0), ({}, 1), ({}, 2)):
        model.learn_one(x, y)
    for at in range(400):
        y = chance.randrange(min(n_classes, 3 + at // 40))
        model.learn_one({"a": chance.gauss(y, 1), "b": chance.gauss(-y, 1), "c": chance.gauss(y * y, 3)}, y)
        for label, ensemble in zip(model.labels, model.ensembles, strict=True):
            if label not in known:
                known[label] = Class(ensemble)
            known[label].check_scores(model, ensemble)
            known[label].learn(model, label == y, 1.0)
    for label, ensemble in zip(model.labels, model.ensembles, strict=True):
        known[label].check_state(ensemble)
