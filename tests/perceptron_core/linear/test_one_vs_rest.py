"""Learners that see an event together know what each would know by itself, to the bit."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perceptron_core import AutoClassifier
from perceptron_core.auto.experts import dense_experts
from tests.support.example_counts import n_examples

_BITS = 10
values = st.sampled_from([0.0, 1.0, -2.5, 0.25]) | st.floats(-3, 3)
events = st.fixed_dictionaries({"a": values, "b": values}, optional={"c": values})
labels = st.sampled_from("abcdefghi")
streams = st.lists(st.tuples(events, labels, st.sampled_from([1.0, 0.3, 7.0])), max_size=40)


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
            assert ensemble.scored(k)[0].hex() == twin.score_one(x).hex()

    def learn(self, model, is_class, w):
        for number, twin in self.twins:
            twin.learn_one(dict(model.maps.examples[number].entries()), is_class, w)

    def check_state(self, ensemble):
        for k, (_, twin) in zip(self.own, self.twins, strict=True):
            rule = ensemble.rules[k]
            assert (rule.bias, rule.n_mistakes, rule.n_updates) == (
                twin.bias,
                twin.n_mistakes,
                twin.n_updates,
            )
            assert rule.table.dump(1 << 8) == twin.table.dump(1 << 8)


@settings(max_examples=n_examples(60))
@given(streams)
def test_each_class_knows_what_its_learners_would_know_by_themselves(stream):
    model = AutoClassifier(max_columns=4)
    for x, y in (({"a": 0.5, "b": 1.5}, "a"), ({}, "b"), ({}, "c")):  # columns, but no learners of them yet
        model.learn_one(x, y)
    known = {}
    for x, y, w in stream:
        model.learn_one(x, y, w)
        for label, ensemble in zip(model.labels, model.ensembles, strict=True):
            if label not in known:
                known[label] = Class(ensemble)
            known[label].check_scores(model, ensemble)
            known[label].learn(model, label == y, w)
            known[label].check_state(ensemble)


@pytest.mark.parametrize("n_classes", [3, 4, 9])
def test_a_class_that_comes_late_knows_it_too(n_classes):
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
