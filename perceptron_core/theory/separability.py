"""Find a hyperplane that separates a set, or prove that none exists.

Examples are normalised as in Duda, Hart and Stork: z = y·(x, 1), so that a separates them if z·a > 0.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from perceptron_core.sparse_vectors import checked
from perceptron_core.theory.geometry import Examples, Hyperplane
from perceptron_core.validation import sign_of

if TYPE_CHECKING:
    import numpy as np

TOLERANCE: Final = 1e-9
"""A convex combination shorter than this, relative to its terms, counts as 0."""

_SOLVER_TOLERANCE: Final = 1e-10  # the tightest that HiGHS takes
_DUAL_TOLERANCE: Final = 1e-14
_MARGIN_TOLERANCE: Final = 1e-6  # to which the conditions for the shortest vector are checked


@dataclass(frozen=True, slots=True)
class Separability:
    """A separating hyperplane, or the multipliers that prove there is none.

    Attributes
    ----------
    separator : Hyperplane or None
        y·(w·x + b) > 0 for every example, beyond any rounding.
    multipliers : tuple of float
        Otherwise: λ ≥ 0, one for each example, Σλ = 1, with Σ λ·z = 0. Were there an a with z·a > 0 for all
        z, then 0 = a·Σ λ·z > 0: so there is none (Gordan, 1873).
    residual : float
        ‖Σ λ·z‖ relative to Σ λ·‖z‖, columns brought to one scale: what rounding left of 0.

    """

    separator: Hyperplane | None
    multipliers: tuple[float, ...] = ()
    residual: float = 0.0

    @property
    def separable(self) -> bool:
        """Whether there is a separating hyperplane."""
        return self.separator is not None


@dataclass(frozen=True, slots=True)
class MinimumLengthSolution(Hyperplane):
    """The shortest a = (w, b) with z·a ≥ margin, and the multipliers that make it up: a = Σ λ·z.

    λ ≥ 0, and λ > 0 only for examples on the margin: the support vectors.
    """

    multipliers: tuple[float, ...] = ()


class NormalisedSamples:
    """z = y·(x, 1), or y·x without an intercept, with the features numbered in the order they come.

    Raises `FeatureError` and `LabelError` as learning does.
    """

    def __init__(self, examples: Examples, *, fit_intercept: bool) -> None:
        self.fit_intercept = fit_intercept
        self.rows: list[dict[int, float]] = []
        self._names: dict[Any, int] = {}
        for x, y in examples:
            sign = sign_of(y)
            row = {self._index(name): sign * value for name, value in checked(x) if value}
            if fit_intercept:
                row[-1] = float(sign)  # the last column, once their number is known
            self.rows.append(row)

    def _index(self, name: Any) -> int:
        return self._names.setdefault(name, len(self._names))

    @property
    def n_columns(self) -> int:
        """Number of features, and one for the intercept."""
        return len(self._names) + self.fit_intercept

    def matrix(self) -> Any:
        """Return the samples as the rows of a SciPy CSR array."""
        from scipy.sparse import csr_array  # noqa: PLC0415  takes long to import, and learning does not need it

        columns = [j % self.n_columns for row in self.rows for j in row]
        values = [value for row in self.rows for value in row.values()]
        starts = [0]
        for row in self.rows:
            starts.append(starts[-1] + len(row))
        return csr_array((values, columns, starts), shape=(len(self.rows), self.n_columns), dtype=float)

    def hyperplane(self, a: Sequence[float]) -> Hyperplane:
        """Name the entries of a vector."""
        values = [float(value) for value in a]
        weights = {name: values[j] for name, j in self._names.items() if values[j]}
        return Hyperplane(weights, values[-1] if self.fit_intercept else 0.0)


def linear_separability(examples: Examples, *, fit_intercept: bool = True) -> Separability:
    """Decide whether a hyperplane separates the examples, and prove it.

    One linear program over rows z of length 1, max t subject to z·a ≥ t and |aⱼ| ≤ 1, decides both:
    if t > 0, a separates; if t = 0, the dual variables of the rows combine them to 0. The separator is
    proven against rounding; the combination holds to `TOLERANCE`, so that a set whose margin is less
    than a billionth of its radius may count as not separable.

    Parameters
    ----------
    examples
        Features and labels.
    fit_intercept
        Whether the hyperplane may miss the origin.

    Raises
    ------
    ArithmeticError
        The margin is too small for double precision.

    References
    ----------
    Duda, R., Hart, P., Stork, D. (2001). Pattern Classification, section 5.10 (linear programming).

    Huangfu, Q., Hall, J. (2018). Parallelizing the dual revised simplex method. (HiGHS)

    Examples
    --------
    Logical *and* is separable, *xor* is not: the four corners, equally weighted, cancel.

    >>> from perceptron_core import linear_separability
    >>> corners = [{"a": a, "b": b} for a in (0, 1) for b in (0, 1)]
    >>> linear_separability([(x, x["a"] and x["b"]) for x in corners]).separable
    True
    >>> linear_separability([(x, x["a"] != x["b"]) for x in corners]).multipliers
    (0.25, 0.25, 0.25, 0.25)

    """
    samples = NormalisedSamples(examples, fit_intercept=fit_intercept)
    for number, row in enumerate(samples.rows):
        if not row:  # 0·a > 0 for no a
            return Separability(None, tuple(float(i == number) for i in range(len(samples.rows))))
    if not samples.rows:
        return Separability(Hyperplane())
    a, multipliers, residual = _solve(samples)
    separator = samples.hyperplane(a)
    if all(_surely_positive(samples, row, a) for row in samples.rows):
        return Separability(separator)
    if residual > TOLERANCE:
        raise ArithmeticError("the margin of these examples, if they have one, is too small for doubles")
    return Separability(None, multipliers, residual)


def _solve(samples: NormalisedSamples) -> tuple[list[float], tuple[float, ...], float]:
    """Solve the linear program; return a, the convex combination of the z, and the residual of its sum."""
    import numpy as np  # noqa: PLC0415  takes long to import
    from scipy import optimize, sparse  # noqa: PLC0415  as above

    z = samples.matrix()
    columns = sparse.diags_array(1 / abs(z).max(axis=0).toarray())
    scaled = z @ columns
    lengths = np.sqrt(scaled.multiply(scaled).sum(axis=1))
    unit = sparse.diags_array(1 / lengths) @ scaled
    n, d = z.shape
    solve: Any = optimize.linprog
    solved = solve(
        c=[0.0] * d + [-1.0],
        A_ub=sparse.hstack([-unit, sparse.csr_array(np.ones((n, 1)))]).tocsr(),
        b_ub=np.zeros(n),
        bounds=[(-1, 1)] * d + [(None, None)],
        method="highs",
        options={
            "primal_feasibility_tolerance": _SOLVER_TOLERANCE,
            "dual_feasibility_tolerance": _SOLVER_TOLERANCE,
        },
    )
    if not solved.success:
        raise ArithmeticError(f"the linear program was not solved: {solved.message}")
    dual = np.maximum(-solved.ineqlin.marginals, 0.0)
    residual = float(np.linalg.norm(unit.T @ dual) / dual.sum())
    dual /= lengths
    return (columns @ solved.x[:d]).tolist(), tuple((dual / dual.sum()).tolist()), residual


def _surely_positive(samples: NormalisedSamples, row: dict[int, float], a: Sequence[float]) -> bool:
    """Return whether z·a > 0 for any rounding and any order of summation."""
    terms = [value * a[j % samples.n_columns] for j, value in row.items()]
    error = 2 * (len(terms) + 1) * math.ulp(1.0) * math.fsum(map(abs, terms))
    return math.fsum(terms) > error


def minimum_length_solution(
    examples: Examples, margin: float = 1.0, *, fit_intercept: bool = True
) -> MinimumLengthSolution | None:
    """Find the shortest vector a = (w, b) with y(w·x + b) ≥ margin for every example; None if there is none.

    It is the direction of the largest margin in the augmented space, γ = margin/‖a‖, and so gives the
    smallest mistake bound. (The support vector machine without errors would be shortest in w alone.)
    Solved as least distance programming through non-negative least squares; works on a dense matrix.

    Parameters
    ----------
    examples
        Features and labels.
    margin
        b > 0; it scales the solution.
    fit_intercept
        Whether a has a component for the constant feature 1.

    Raises
    ------
    ArithmeticError
        The examples are separable, but the margin is too small for double precision.

    References
    ----------
    Lawson, C., Hanson, R. (1974). Solving Least Squares Problems, chapter 23, algorithm LDP.

    Duda, R., Hart, P., Stork, D. (2001). Pattern Classification, section 5.4.1.

    Examples
    --------
    >>> from perceptron_core import minimum_length_solution
    >>> solution = minimum_length_solution([({"x": 3.0}, True), ({"x": 1.0}, False)])
    >>> print(solution.weights, solution.bias)
    {'x': 1.0} -2.0

    """
    if not 0 < margin < math.inf:
        raise ValueError(f"margin: expected a finite number above 0, got {margin!r}")
    samples = NormalisedSamples(examples, fit_intercept=fit_intercept)
    if not samples.rows:
        return MinimumLengthSolution()
    z = samples.matrix().toarray()
    scale = float(abs(z).max(initial=0.0))
    solved = _least_distance(z / scale) if scale else None
    if solved is None:
        if linear_separability(_as_examples(samples), fit_intercept=False).separable:
            raise ArithmeticError("the examples are separable, but by too little for double precision")
        return None
    a, multipliers = solved
    plane = samples.hyperplane((a * (margin / scale)).tolist())
    return MinimumLengthSolution(
        plane.weights, plane.bias, tuple((multipliers * (margin / scale / scale)).tolist())
    )


def _as_examples(samples: NormalisedSamples) -> list[tuple[dict[Any, Any], bool]]:
    return [(dict(row), True) for row in samples.rows]


def _least_distance(z: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """Minimise ‖a‖ subject to z·a ≥ 1; return a and λ with a = Σ λ·z, or None if that cannot be satisfied."""
    import numpy as np  # noqa: PLC0415  takes long to import
    from scipy import optimize  # noqa: PLC0415  as above

    n, d = z.shape
    system, target = np.vstack([z.T, np.ones(n)]), np.zeros(d + 1)
    target[-1] = 1.0
    try:
        solution = _shortest_on(z, optimize.nnls(system, target, maxiter=10 * (n + d))[0] > 0)
    except RuntimeError:  # too many iterations
        return None
    if solution is not None:
        return solution
    # Lawson and Hanson's NNLS in SciPy sometimes misses the optimum. This solver is slower.
    u = optimize.lsq_linear(system, target, bounds=(0, np.inf), method="bvls", tol=_DUAL_TOLERANCE).x
    return _shortest_on(z, u > _DUAL_TOLERANCE)


def _shortest_on(z: np.ndarray, support: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the shortest a with z·a = 1 on the active rows, and its λ; None if another is shorter.

    Exact to rounding: dividing by 1 − Σu, as algorithm LDP does, loses digits when the margin is small.
    """
    import numpy as np  # noqa: PLC0415  takes long to import
    from scipy import optimize  # noqa: PLC0415  as above

    if not support.any():
        return None
    a = np.linalg.lstsq(z[support], np.ones(support.sum()), rcond=None)[0]
    multipliers = np.zeros(len(z))
    # Active rows may be linearly dependent: of the combinations that give a, one has no negative λ.
    multipliers[support] = optimize.nnls(z[support].T, a)[0]
    is_feasible = (z @ a).min() >= 1 - _MARGIN_TOLERANCE
    is_shortest = np.linalg.norm(z.T @ multipliers - a) <= _MARGIN_TOLERANCE * np.linalg.norm(a)
    return (a, multipliers) if is_feasible and is_shortest else None
