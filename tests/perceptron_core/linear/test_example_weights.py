"""The weight w of an example does what its learner declares, and 1 is the same as none."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perceptron_core import CharacterNaiveBayes
from perceptron_core.formats.model_bytes import learners
from perceptron_core.linear.declarations import OF_COUNTS, OF_LOSS, OF_PRICE, OF_RESISTANCE, OF_STEP
from perceptron_core.linear.multiclass import MulticlassClassifier
from tests.support.learners import examples, learn, streams

LEARNERS = learners()
CLASSES = {False: "ant", True: "bee"}
whole = st.integers(1, 8).map(float)


def of_kind(kind, *, without=()):
    return st.sampled_from(
        [name for name, cls in LEARNERS.items() if kind == cls.WEIGHT and name not in without]
    )


def made(name, **parameters):
    cls = LEARNERS[name]
    return (
        cls(classes=["ant", "bee"], **parameters)
        if issubclass(cls, MulticlassClassifier)
        else cls(**parameters)
    )


def step(model, x, y, w):
    """Learn an example; return the size of the step."""
    if not isinstance(model, MulticlassClassifier):
        return model.update_one(x, y, w)
    update = model.update_one(x, CLASSES[y], w)
    return 0.0 if update is None else update.size


def learned(name, stream, **parameters):
    model = made(name, **parameters)
    several = isinstance(model, MulticlassClassifier)
    return learn(model, [(x, CLASSES[y] if several else y) for x, y in stream])


@given(st.lists(st.tuples(st.text("abc ", min_size=1), st.booleans())), st.integers(1, 3))
def test_weight_multiplies_the_counts_of_naive_bayes(stream, w):
    weighted, repeated = CharacterNaiveBayes(), CharacterNaiveBayes()
    for text, y in stream:
        weighted.learn_one(text, y, float(w))
        for _ in range(w):
            repeated.learn_one(text, y)
    assert weighted.predict_proba_one("ab c") == repeated.predict_proba_one("ab c")


def test_every_learner_declares_what_a_weight_does():
    kinds = {OF_STEP, OF_LOSS, OF_RESISTANCE, OF_PRICE, OF_COUNTS}
    assert {name for name, cls in LEARNERS.items() if cls.WEIGHT not in kinds} == set()


@given(of_kind(OF_STEP), streams, examples, whole)
def test_example_weight_multiplies_the_step(name, stream, example, w):
    plain, weighted = (learned(name, stream) for _ in range(2))
    assert step(weighted, *example, w) == w * step(plain, *example, 1.0)


@given(
    of_kind(OF_LOSS, without=("auto", "hoeffding-forest", "mixture", "bayesian-logistic")),
    streams,
    examples,
    whole,
)
def test_example_weight_multiplies_the_gradient(name, stream, example, w):
    plain, weighted = (learned(name, stream) for _ in range(2))
    assert step(weighted, *example, w) == pytest.approx(w * step(plain, *example, 1.0), rel=1e-12)


@given(of_kind(OF_RESISTANCE), streams, examples, whole)
def test_example_weight_divides_r_of_arow(name, stream, example, w):
    weighted, other = (learned(name, stream) for _ in range(2))
    other.r = 1.0 / w
    assert step(weighted, *example, w) == step(other, *example, 1.0)
    assert weighted.weights == other.weights


@given(of_kind(OF_RESISTANCE), streams)
def test_smallest_weight_keeps_r_finite(name, stream):
    model = learned(name, stream)
    assert 0 < abs(step(model, {"new": 1.0}, False, 5e-324)) < 1e-100


@given(of_kind(OF_PRICE, without=("scw",)), streams, examples, whole)
def test_example_weight_multiplies_c_of_passive_aggressive(name, stream, example, w):
    weighted, other = (learned(name, stream, C=0.125) for _ in range(2))
    other.C = 0.125 * w
    assert step(weighted, *example, w) == step(other, *example, 1.0)
    assert weighted.weights == other.weights


@given(st.sampled_from([*LEARNERS]), streams, examples)
def test_weight_of_zero_changes_nothing(name, stream, example):
    model = learned(name, stream)
    before = model._get_state()
    model.learn_one(
        example[0], CLASSES[example[1]] if isinstance(model, MulticlassClassifier) else example[1], 0.0
    )
    assert str(model._get_state()) == str(before)
