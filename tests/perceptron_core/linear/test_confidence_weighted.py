"""AROW and SCW against dense implementations that follow the papers line by line."""

import math
from statistics import NormalDist

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

from perceptron_core import AROW, SCW
from tests.support.learners import learn, streams

NAMES = "abcde"


def dense(x, fit_intercept=True):
    return np.array([*(float(x.get(name, 0.0)) for name in NAMES), float(fit_intercept)])


EDGE = 1e-9
"""Nearer than this to the margin, the rounding of a sum decides whether there is a step at all."""


def arow_step(m, v, r):
    assume(abs(1.0 - m) > EDGE)
    return max(0.0, 1.0 - m) / (v + r), 1.0 / (v + r)


def scw_step(m, v, price, confidence):
    phi = NormalDist().inv_cdf(confidence)
    psi, zeta = 1 + phi**2 / 2, 1 + phi**2
    assume(v == 0 or abs(phi * math.sqrt(v) - m) > EDGE)
    if phi * math.sqrt(v) - m <= 0 or v == 0:
        return 0.0, 0.0
    alpha = min(price, max(0.0, (-m * psi + math.sqrt(m**2 * phi**4 / 4 + v * phi**2 * zeta)) / (v * zeta)))
    u = (-alpha * v * phi + math.sqrt(alpha**2 * v**2 * phi**2 + 4 * v)) ** 2 / 4
    return alpha, alpha * phi / (math.sqrt(u) + v * alpha * phi)


def brute_force(stream, step, *, full, fit_intercept=True):
    """Follow the papers with a matrix, of which the diagonal version keeps the diagonal."""
    mean, covariance = np.zeros(6), np.eye(6)
    for example in stream:
        x, y, w = (*example, 1.0)[:3]
        x, sign = dense(x, fit_intercept), 1 if y else -1
        m, v = sign * (mean @ x), x @ covariance @ x
        alpha, beta = step(m, v, w)
        if alpha > 0:
            gain = covariance @ x
            mean = mean + alpha * sign * gain
            covariance = covariance - beta * np.outer(gain, gain)
            covariance = covariance if full else np.diag(np.diag(covariance))
    return mean, covariance


def as_dense(model):
    mean = np.array([*(model.weights.get(name, 0.0) for name in NAMES), model.bias])
    if not model.full:
        return mean, np.diag([*(model.variances.get(name, 1.0) for name in NAMES), model.bias_variance])
    names = [*NAMES, None]
    identity = {name: {name: 1.0} for name in names}
    rows = identity | model.covariance
    return mean, np.array([[rows[i].get(j, 0.0) for j in names] for i in names])


def assert_same(model, expected):
    for ours, theirs in zip(as_dense(model), expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-8)


values = st.sampled_from([-2.0, -1.0, 0.0, 0.5, 1.0, 3.0])
weighted = st.lists(
    st.tuples(
        st.dictionaries(st.sampled_from(NAMES), values, max_size=5),
        st.booleans(),
        st.sampled_from([0.5, 1.0, 4.0]),
    ),
    max_size=15,
)


@given(weighted, st.sampled_from([0.1, 1.0, 10.0]), st.booleans(), st.booleans())
def test_arow_is_the_dense_algebra_of_the_paper(stream, r, full, fit_intercept):
    model = learn(AROW(r=r, full=full, fit_intercept=fit_intercept), stream)
    expected = brute_force(
        stream, lambda m, v, w: arow_step(m, v, r / w), full=full, fit_intercept=fit_intercept
    )
    assert_same(model, expected)


@given(
    weighted,
    st.sampled_from([0.1, 1.0, 5.0]),
    st.sampled_from([0.6, 0.7, 0.95]),
    st.booleans(),
    st.booleans(),
)
def test_scw_is_the_dense_algebra_of_the_paper(stream, price, confidence, full, fit_intercept):
    model = learn(SCW(C=price, confidence=confidence, full=full, fit_intercept=fit_intercept), stream)
    expected = brute_force(
        stream, lambda m, v, w: scw_step(m, v, price * w, confidence), full=full, fit_intercept=fit_intercept
    )
    assert_same(model, expected)


@given(streams, st.sampled_from([0.5, 0.9]))
def test_forgetting_raises_variances_up_to_one(stream, forgetting):
    model = AROW(forgetting=forgetting, intercept_forgetting=forgetting)
    for x, y in stream:
        mean, covariance = as_dense(model)
        updates = model.n_updates
        model.learn_one(x, y)
        if model.n_updates == updates:
            continue
        touched = dense(dict.fromkeys(x, 1.0))
        variances = np.diag(covariance)
        widened = np.where(touched > 0, np.minimum(1.0, variances / forgetting), variances)
        values, sign = dense(x), 1 if y else -1
        alpha, beta = arow_step(sign * (mean @ values), widened @ values**2, 1.0)
        mean, covariance = as_dense(model)[0] - (mean + alpha * sign * widened * values), as_dense(model)[1]
        np.testing.assert_allclose(mean, 0.0, atol=1e-9)
        np.testing.assert_allclose(np.diag(covariance), widened - beta * (widened * values) ** 2, atol=1e-9)
