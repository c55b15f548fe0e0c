"""The one-sided confidence bound of a share, by Clopper and Pearson; counts may be weights.

`bound.pxd` gives this module its C types.
"""

from __future__ import annotations

from typing import Final

from perceptron_core.elementary import exp, log

_ALPHA: Final = 0.05
_HALF_LOG_2PI: Final = 0.9189385332046727
_LARGE: Final = 10.0
_STEPS: Final = 1000
_PRECISION: Final = 1e-12


def is_surely(k: float, n: float, share: float) -> bool:
    """Return whether k of n bound the true share from below by this one, with confidence 95 %.

    They do if k or more of n would come with a chance of 5 % at most, were the share no larger.

    >>> is_surely(59, 59, 0.95), is_surely(58, 58, 0.95), is_surely(980, 1000, 0.975)
    (True, False, False)

    References
    ----------
    Clopper, C. J. and Pearson, E. S. (1934). The use of confidence or fiducial limits illustrated in the case
    of the binomial. Biometrika 26(4).

    """
    excess = k - share * n
    if excess <= 0.0 or excess * excess < share * (1.0 - share) * n:  # below the mean plus a deviation
        return False
    a, b = k, n - k + 1.0
    head = a * log(share) + b * log(1.0 - share) + log_gamma(a + b) - log_gamma(a) - log_gamma(b)
    return exp(head) * _fraction(a, b, share) <= _ALPHA * a


def _fraction(a: float, b: float, x: float) -> float:
    """Compute a·B(a, b)·I_x(a, b)/(xᵃ·(1 − x)ᵇ), a continued fraction, by Lentz' method.

    It converges fast for x below the mean a/(a + b) (DLMF 8.17.22).
    """
    c, d = 1.0, 1.0 / (1.0 - (a + b) * x / (a + 1.0))
    found = d
    for m in range(1, _STEPS):
        even, odd = m * (b - m) * x, -(a + m) * (a + b + m) * x
        even /= (a - 1.0 + 2.0 * m) * (a + 2.0 * m)
        odd /= (a + 2.0 * m) * (a + 1.0 + 2.0 * m)
        d, c = 1.0 / (1.0 + even * d), 1.0 + even / c
        found *= c * d
        d, c = 1.0 / (1.0 + odd * d), 1.0 + odd / c
        found *= c * d
        if -_PRECISION < c * d - 1.0 < _PRECISION:
            break
    return found


def log_gamma(x: float) -> float:
    """Compute ln Γ(x) for x > 0 by Stirling's series.

    >>> log_gamma(5.0)  # ln 4!
    3.17805383...
    """
    product = 1.0
    while x < _LARGE:
        product *= x
        x += 1.0
    y = 1.0 / (x * x)
    series = (1.0 / 12.0 - y * (1.0 / 360.0 - y * (1.0 / 1260.0 - y / 1680.0))) / x
    return (x - 0.5) * log(x) - x + _HALF_LOG_2PI + series - log(product)
