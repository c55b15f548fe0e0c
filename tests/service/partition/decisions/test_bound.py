from hypothesis import given
from hypothesis import strategies as st
from scipy.special import betainc, gammaln

from service.partition.parts.thresholds import is_surely, log_gamma


@given(st.floats(0.1, 30_000), st.floats(0.01, 1), st.sampled_from([0.01, 0.5, 0.9, 0.95, 0.999]))
def test_the_bound_is_that_of_clopper_and_pearson(n, ratio, share):
    k = n * ratio
    chance = betainc(k, n - k + 1, share)  # of k or more, were the share no larger
    if abs(chance - 0.05) > 1e-9:
        assert is_surely(k, n, share) == (k > share * n and chance <= 0.05)


@given(st.floats(0.001, 1e6))
def test_the_gamma_function_is_within_rounding(x):
    assert abs(log_gamma(x) - gammaln(x)) <= 1e-11 * max(1, abs(gammaln(x)))


def test_none_of_none_is_not_sure():
    assert not is_surely(0.0, 0.0, 0.5)
