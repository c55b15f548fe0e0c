"""The mixer against its formula in plain algebra, and over streams that rounding errors could ruin."""

import math
import random
from array import array

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perceptron_core.mixing.mixer import Mixer

N = 3
log_odds = st.sampled_from([-8.0, -1.5, 0.0, 0.25, 8.0])
examples = st.tuples(
    st.lists(log_odds, min_size=N, max_size=N), st.booleans(), st.sampled_from([0.5, 1.0, 3.0])
)
streams = st.lists(examples, max_size=30)
kinds = pytest.mark.parametrize(("variance", "forgetting"), [(0.1, 0.999), (0.02, 1.0), (1.0, 0.5)])


class Formula:
    """v and S as lists."""

    def __init__(self, variance, forgetting):
        self.variance, self.forgetting = variance, forgetting
        self.v = [1 / N] * N
        self.s = [[variance * (i == j) for j in range(N)] for i in range(N)]

    def mix(self, z):
        return math.fsum(weight * each for weight, each in zip(self.v, z, strict=True))

    def learn(self, z, y, w):
        a = self.mix(z)
        p = math.exp(min(a, 0)) / (1 + math.exp(-abs(a)))
        if abs(y - p) < 0.001:
            return
        q = w * p * (1 - p)
        g = [math.fsum(s * each for s, each in zip(row, z, strict=True)) for row in self.s]
        f = 1 / (1 + q * math.fsum(a * b for a, b in zip(z, g, strict=True)))
        for i in range(N):
            self.v[i] += f * w * (y - p) * g[i]
            for j in range(N):
                self.s[i][j] = (self.s[i][j] - f * q * g[i] * g[j]) / self.forgetting
        if self.forgetting < 1:
            shrink = [min(1.0, math.sqrt(self.variance / self.s[k][k])) for k in range(N)]
            self.s = [[self.s[i][j] * shrink[i] * shrink[j] for j in range(N)] for i in range(N)]


def mixer_of(n, variance=0.1, forgetting=0.999):
    mixer = Mixer(variance, forgetting)
    for _ in range(n):
        mixer.add_input(1 / n)
    return mixer


def learn(mixer, stream):
    for z, y, w in stream:
        inputs = array("d", z)
        mixer.learn(inputs, y, w, mixer.mix(inputs))
    return mixer


@kinds
@given(stream=streams, information=st.sampled_from([1.0, 0.25]))
def test_mixer_computes_its_documented_formula(variance, forgetting, stream, information):
    mixer = mixer_of(N, variance, forgetting)
    formula = Formula(variance, 1 - (1 - forgetting) * information)
    for z, y, w in stream:
        inputs = array("d", z)
        log_odds = mixer.mix(inputs)
        assert log_odds == pytest.approx(formula.mix(z), rel=1e-9, abs=1e-9)
        mixer.learn(inputs, y, w, log_odds, information)
        formula.learn(z, y, w)
    assert mixer.weights == pytest.approx(formula.v, rel=1e-9, abs=1e-9)
    found = mixer.get_state()["covariance"]
    assert found == pytest.approx([s for row in formula.s for s in row], rel=1e-9, abs=1e-9)


def test_late_input_leaves_other_weights_unchanged():
    mixer = learn(mixer_of(N), [([1.0, -2.0, 3.0], True, 1.0)] * 20)
    before = mixer.weights
    for _ in range(20):  # beyond the room there was
        mixer.add_input(0.25)
    assert mixer.weights == [*before, *[0.25] * 20]
    assert mixer.mix(array("d", [1.0, -2.0, 3.0, *[0.0] * 20])) == pytest.approx(
        before[0] - 2 * before[1] + 3 * before[2]
    )


@pytest.mark.parametrize("heaviest", [1.0, 1e3, 1e25])
@pytest.mark.parametrize("forgetting", [1.0, 0.999, 0.9, 0.5])
def test_covariance_stays_symmetric_and_positive(forgetting, heaviest):
    rng, mixer = random.Random(7), mixer_of(7, forgetting=forgetting)
    for _ in range(5_000):  # inputs that nearly agree, as those of similar learners do
        base = rng.gauss(0, 4)
        z = [max(-8.0, min(base + rng.gauss(0, 0.5), 8.0)) for _ in range(7)]
        learn(mixer, [(z, rng.random() < 0.5, rng.choice([1.0, heaviest]))])
    covariance = np.array(mixer.get_state()["covariance"]).reshape(7, 7)
    assert (covariance == covariance.T).all()
    values = np.linalg.eigvalsh(covariance)
    assert values[0] > -1e-12 * values[-1]
    assert all(map(math.isfinite, mixer.weights))


@given(
    stream=st.lists(
        st.tuples(
            st.lists(st.sampled_from([-8.0, 0.0, 1e-300, 8.0]), min_size=N, max_size=N),
            st.booleans(),
            st.sampled_from([1e-300, 1.0, 1e25]),
        ),
        max_size=60,
    )
)
def test_mixer_never_overflows(stream):
    state = learn(mixer_of(N), stream).get_state()
    assert all(map(math.isfinite, [*state["weights"], *state["covariance"]]))
