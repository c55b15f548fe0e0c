import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perceptron_core import FeatureError, KernelPerceptron, Perceptron, to_bytes
from perceptron_core.linear.kernel import make_kernel
from tests.support.learners import examples, learn, streams

vectors = st.dictionaries(st.sampled_from("abc"), st.floats(-5, 5))


@given(streams, examples, st.booleans())
def test_linear_kernel_equals_the_primal_perceptron(stream, last, fit_intercept):
    dual = learn(KernelPerceptron(kernel="linear", fit_intercept=fit_intercept), stream)
    primal = learn(Perceptron(fit_intercept=fit_intercept), stream)
    assert dual.score_one(last[0]) == primal.score_one(last[0])
    assert (dual.n_mistakes, dual.n_updates, dual.bias) == (primal.n_mistakes, primal.n_updates, primal.bias)


@given(vectors, vectors)
def test_named_kernels_are_their_formulas(x, z):
    product = sum(value * z.get(name, 0.0) for name, value in x.items())
    distance = sum((x.get(name, 0.0) - z.get(name, 0.0)) ** 2 for name in x | z)
    given = {"gamma": 0.5, "degree": 3, "coef0": 2.0}
    assert make_kernel("linear", **given)(x, z) == pytest.approx(product)
    assert make_kernel("polynomial", **given)(x, z) == pytest.approx((0.5 * product + 2.0) ** 3)
    assert make_kernel("rbf", **given)(x, z) == pytest.approx(math.exp(-0.5 * distance))


@pytest.mark.parametrize(("degree", "expected"), [(2, 1e200), (3, -1e200)])
def test_kernel_value_is_clamped_before_it_overflows(degree, expected):
    assert make_kernel("polynomial", 1.0, degree, 1.0)({"a": 1e100}, {"a": -1e100}) == expected


@given(streams, st.integers(1, 4))
def test_kernel_budget_keeps_the_newest_mistakes(stream, budget):
    model, kept = KernelPerceptron(kernel="polynomial", degree=2, budget=budget), []
    for x, y in stream:
        alpha = model.update_one(x, y)
        if alpha:
            kept.append(({name: value for name, value in x.items() if value}, alpha))
        assert model.support == kept[-budget:]


def test_learner_keeps_no_reference_to_the_example():
    model, x = KernelPerceptron(), {"a": 1.0}
    model.learn_one(x, True)
    x["a"] = 5.0
    assert model.support == [({"a": 1.0}, 1.0)]


def test_function_kernel_cannot_be_saved():
    model = KernelPerceptron(kernel=lambda x, z: float(len(x.keys() & z.keys())))
    learn(model, [({"a": 1.0}, True), ({"b": 1.0}, False)])
    assert model.score_one({"a": 7.0}) == 1.0
    with pytest.raises(TypeError, match="KernelPerceptron: kernel is a function"):
        to_bytes(model)


def test_kernel_without_finite_value_is_rejected_without_change():
    model = KernelPerceptron(kernel=lambda x, z: math.nan)
    model.learn_one({"a": 1.0}, True)
    with pytest.raises(FeatureError, match="expected a finite number"):
        model.learn_one({"a": 1.0}, False)
    assert (len(model.support), model.n_updates) == (1, 1)
