"""The ways that make no object for the results have the results of those that do."""

import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perceptron_core import LearnerError, Perceptron
from perceptron_core.weights.named_values import NamedValues
from service.models.binary import BinaryLearner
from tests.support.example_counts import n_examples
from tests.support.learners import TWO_CLASS, any_of

SHAPES = [("a", "b", "c"), ("b", "a"), ()]
rows = st.sampled_from(SHAPES).flatmap(
    lambda names: st.tuples(
        st.just(names),
        st.lists(st.floats(-9, 9), min_size=len(names), max_size=len(names)),
        st.booleans(),
        st.booleans(),
    )
)
"""(names, numbers, class, whether it comes as a dictionary)"""


def bits(*values):
    return [struct.pack("d", value) for value in values]


@settings(max_examples=n_examples(300))
@given(model=any_of(TWO_CLASS), stream=st.lists(rows, max_size=12))
def test_every_learner_answers_and_learns_the_same_either_way(model, stream):
    ours, theirs = BinaryLearner(model), BinaryLearner(model.clone())
    for names, values, truth, is_plain in stream:
        plain = dict(zip(names, values, strict=True))
        x = plain if is_plain else NamedValues(names, values)
        predicted, score = theirs.assess(plain)
        assert ours.decide_only(x) is predicted
        assert bits(ours.last_score) == bits(score)
        predicted, score, step = theirs.predict_learn(plain, truth)
        assert ours.decide_and_learn(x, truth) is predicted
        assert bits(ours.last_score, ours.last_step) == bits(score, step)
        assert bits(ours.learn_step(x, not truth)) == bits(theirs.learn(plain, not truth))
        assert ours.updates == theirs.updates
    assert ours.dump() == theirs.dump()


def test_a_model_that_is_replaced_is_the_one_that_answers():
    learner = BinaryLearner(Perceptron())
    x = NamedValues(("a",), (1.0,))
    empty = learner.dump()
    assert not learner.decide_and_learn(x, True)
    assert learner.decide_only(x)
    learner.load(empty)
    assert not learner.decide_only(x)
    learner.model = Perceptron(tie=True)
    assert learner.decide_only(x)


def test_a_derived_class_is_asked_itself():
    class Opposite(Perceptron):
        def decide(self, score):
            return not super().decide(score)

        def update_one(self, x, y, w=1.0):
            return super().update_one(x, not y, w)

    learner = BinaryLearner(Opposite())
    x = {"a": 1.0}
    assert learner.decide_only(x)
    assert learner.learn_step(x, False) == 1.0


def test_values_that_no_learner_takes_change_nothing():
    learner = BinaryLearner(Perceptron())
    before = learner.dump()
    for way in (learner.decide_only, lambda x: learner.decide_and_learn(x, True)):
        with pytest.raises(LearnerError, match="at most 1e"):
            way(NamedValues(("a",), (1e101,)))
    assert learner.dump() == before
