"""Learners of one kind, one for each class against the rest: the compiled form of `one_vs_rest.py`, which
documents it.

For each class, features are added in the same order as in a single learner, so results are bit-identical.
"""

from libc.string cimport memset

from perceptron_core cimport c_memory  # no-cython-lint: for FOR_TWO_PROCESSORS
from perceptron_core.linear.linear_rule cimport LinearRule
from perceptron_core.linear.bayesian_logistic cimport BayesianLogisticRule, moderation_at
from perceptron_core.linear.arow cimport ConfidenceWeightedRule
from perceptron_core.linear.logistic_regression cimport LogisticRegressionRule
from perceptron_core.linear.normalized_adagrad cimport NormalizedAdaGradRule
from perceptron_core.weights.example cimport Example
from perceptron_core.weights.buffers import doubles, integers

cdef extern from *:
    """
    /* Cells are fetched from memory some rows ahead, by lines of eight. */
    #define AHEAD 6
    static inline void prefetch_row(const double *cells, Py_ssize_t n) {
        for (Py_ssize_t c = 0; c < n; c += 8) prefetch_cell(cells + c);
    }
    /* Rows are a multiple of LANES long, so that classes are computed four at once. */
    #define FOR_CLASSES(c) for (Py_ssize_t c = 0; c < (n_lanes & ~(Py_ssize_t)3); c++)

    FOR_TWO_PROCESSORS static void add_products(
        const double *cells, Py_ssize_t width, Py_ssize_t n_lanes, const int *slots, const double *values,
        Py_ssize_t n, double *CYTHON_RESTRICT sums
    ) {
        for (Py_ssize_t k = 0; k < n; k++) {
            const double *row = cells + slots[k] * width, x = values[k];
            if (k + AHEAD < n) prefetch_row(cells + slots[k + AHEAD] * width, n_lanes);
            FOR_CLASSES(c) sums[c] += row[c] * x;
        }
    }
    FOR_TWO_PROCESSORS static void add_variances(
        const double *cells, Py_ssize_t width, Py_ssize_t n_lanes, const int *slots, const double *values,
        Py_ssize_t n, double forgetting, double *CYTHON_RESTRICT sums
    ) {
        const double most = forgetting < 1.0 ? 1.0 : HUGE_VAL;
        for (Py_ssize_t k = 0; k < n; k++) {
            const double *row = cells + slots[k] * width, x = values[k];
            FOR_CLASSES(c) {
                double own = row[c] / forgetting;
                sums[c] += (own < most ? own : most) * x * x;
            }
        }
    }

    /* x / max(|x|, L) of each feature: `shared` if it is the same for n classes, else 2 there and a row of ratios.
       Sums of their products with the weights, and of their squares. `common` has L if all classes have the same;
       other scales than the first one are read only if it does not agree. */
    FOR_TWO_PROCESSORS static void add_scaled(
        const double *cells, const double *scales, Py_ssize_t width, Py_ssize_t n_lanes, Py_ssize_t n_classes,
        const int *slots, const double *values, Py_ssize_t n, double *CYTHON_RESTRICT common,
        double *CYTHON_RESTRICT shared, double *CYTHON_RESTRICT ratios, double *CYTHON_RESTRICT sums,
        double *CYTHON_RESTRICT squares
    ) {
        for (Py_ssize_t k = 0; k < n; k++, ratios += n_lanes) {
            const double *row = cells + slots[k] * width, *scale = scales + slots[k] * width;
            const double x = values[k], size = x < 0 ? -x : x, largest = scale[0] > size ? scale[0] : size;
            Py_ssize_t n_others = 0, n_unequal = 0;
            if (k + AHEAD < n) prefetch_row(cells + slots[k + AHEAD] * width, n_lanes + 1);
            if (common[slots[k]] == 0 || common[slots[k]] != scale[0]) {
                for (Py_ssize_t c = 0; c < n_classes; c++) {
                    n_others += (scale[c] > size ? scale[c] : size) != largest;
                    n_unequal += scale[c] != scale[0];
                }
                common[slots[k]] = n_unequal > 0 ? 0.0 : scale[0];
            }
            if (n_others == 0) {
                const double ratio = shared[k] = x / (largest != 0 ? largest : 1.0), square = ratio * ratio;
                FOR_CLASSES(c) sums[c] += row[c] * ratio, squares[c] += square;
                continue;
            }
            shared[k] = 2.0;
            FOR_CLASSES(c) {
                double own = scale[c] > size ? scale[c] : size;
                double ratio = x / (own != 0 ? own : 1.0);
                ratios[c] = ratio;
                sums[c] += row[c] * ratio;
                squares[c] += ratio * ratio;
            }
        }
    }
    #define DESCEND(c) do { \\
        const double gradient = slopes[c] * (ratio <= 1 ? ratio : ratios[c]); \\
        const double square = squares[c] + gradient * gradient; \\
        squares[c] = square; \\
        weights[c] -= rates[c] * (gradient / sqrt(epsilon + square)); \\
    } while (0)
    /* Raise scales to |x|, those of 0 only in classes with a slope; then move the weights against the gradients, of all
       classes at once unless few have a slope. */
    FOR_TWO_PROCESSORS static void descend(
        double *cells, Py_ssize_t width, Py_ssize_t n_lanes, const int *slots, const double *values, Py_ssize_t n,
        double *CYTHON_RESTRICT common, const double *shared, const double *ratios, const double *slopes,
        const double *rates, double epsilon, const int *active, Py_ssize_t n_active
    ) {
        for (Py_ssize_t k = 0; k < n; k++, ratios += n_lanes) {
            double *CYTHON_RESTRICT weights = cells + slots[k] * width, *CYTHON_RESTRICT scales = weights + n_lanes;
            double *CYTHON_RESTRICT squares = scales + n_lanes;
            const double size = values[k] < 0 ? -values[k] : values[k], ratio = shared[k];
            if (k + AHEAD < n) prefetch_row(cells + slots[k + AHEAD] * width + 2 * n_lanes, n_lanes);
            if (!(ratio < 1 && ratio > -1)) { /* otherwise all scales are larger */
                FOR_CLASSES(c)
                    scales[c] = (size > scales[c]) & ((scales[c] > 0) | (slopes[c] != 0)) ? size : scales[c];
                if (common[slots[k]] > 0 && common[slots[k]] < size) common[slots[k]] = size;
            }
            if (ratio == 0) continue;
            if (3 * n_active > n_lanes)
                FOR_CLASSES(c) DESCEND(c);
            else
                for (Py_ssize_t j = 0; j < n_active; j++) DESCEND(active[j]);
        }
    }

    /* Means and variances of all classes. A class without a step only forgets. */
    FOR_TWO_PROCESSORS static void move_and_shrink(
        double *means, double *deviations, Py_ssize_t width, Py_ssize_t n_lanes, const int *slots,
        const double *values, Py_ssize_t n, double forgetting, const double *steps, const double *rests,
        const double *totals
    ) {
        if (forgetting < 1)
            for (Py_ssize_t k = 0; k < n; k++) {
                double *CYTHON_RESTRICT variance = deviations + slots[k] * width;
                FOR_CLASSES(c) {
                    double own = variance[c] / forgetting;
                    variance[c] = own < 1.0 ? own : 1.0;
                }
            }
        for (Py_ssize_t k = 0; k < n; k++) {
            double *CYTHON_RESTRICT mean = means + slots[k] * width;
            double *CYTHON_RESTRICT variance = deviations + slots[k] * width;
            const double x = values[k];
            FOR_CLASSES(c) {
                double own = variance[c];
                double left = own * (rests[c] + (totals[c] - own * x * x)) / (rests[c] + totals[c]);
                mean[c] += steps[c] * own * x;
                variance[c] = (x != 0) & (steps[c] != 0) ? left : own;
            }
        }
    }
    FOR_TWO_PROCESSORS static void add_steps(
        double *weights, Py_ssize_t width, Py_ssize_t n_lanes, const int *slots, const double *values, Py_ssize_t n,
        const double *steps
    ) {
        for (Py_ssize_t k = 0; k < n; k++) {
            double *CYTHON_RESTRICT row = weights + slots[k] * width;
            const double x = values[k];
            FOR_CLASSES(c) row[c] += steps[c] * x;
        }
    }
    """
    void add_products(
        const double* cells, Py_ssize_t width, Py_ssize_t n_lanes, const int* slots, const double* values, Py_ssize_t n,
        double* sums
    ) noexcept
    void add_variances(
        const double* cells, Py_ssize_t width, Py_ssize_t n_lanes, const int* slots, const double* values, Py_ssize_t n,
        double forgetting, double* sums
    ) noexcept
    void add_scaled(
        const double* cells, const double* scales, Py_ssize_t width, Py_ssize_t n_lanes, Py_ssize_t n_classes,
        const int* slots, const double* values, Py_ssize_t n, double* common, double* shared, double* ratios,
        double* sums, double* squares
    ) noexcept
    void descend(
        double* cells, Py_ssize_t width, Py_ssize_t n_lanes, const int* slots, const double* values, Py_ssize_t n,
        double* common, const double* shared, const double* ratios, const double* slopes, const double* rates,
        double epsilon, const int* active, Py_ssize_t n_active
    ) noexcept
    void move_and_shrink(
        double* means, double* deviations, Py_ssize_t width, Py_ssize_t n_lanes, const int* slots,
        const double* values, Py_ssize_t n, double forgetting, const double* steps, const double* rests,
        const double* totals
    ) noexcept
    void add_steps(
        double* weights, Py_ssize_t width, Py_ssize_t n_lanes, const int* slots, const double* values, Py_ssize_t n,
        const double* steps
    ) noexcept

cdef int LANES = 4  # rows of cells are a multiple of it long

cdef enum Kind:
    ANY, PRODUCTS, LOGISTIC, BAYESIAN, ADAGRAD


cdef int kind_of(rule) except -1:
    """Return the form of a learner. PRODUCTS are scored together and learn one by one; ANY does both one by one."""
    if rule.table.changes is not None:
        return ANY
    if isinstance(rule, LogisticRegressionRule):
        return LOGISTIC
    if isinstance(rule, ConfidenceWeightedRule) and not rule.full:
        return BAYESIAN if isinstance(rule, BayesianLogisticRule) else PRODUCTS
    return ADAGRAD if isinstance(rule, NormalizedAdaGradRule) and rule.epsilon > 0 else ANY


cdef class OneVsRest:
    """Scores and learns an event with the same results as its learners one by one."""

    def __init__(self, rules):
        self.rules = [*rules]
        self._n = len(self.rules)
        self.n_lanes = (self._n + LANES - 1) // LANES * LANES
        self._kind = kind_of(self.rules[0])
        self.scores, self._sums, self._steps = (doubles(self.n_lanes) for _ in range(3))
        self._rests = doubles(self.n_lanes)
        self._ratios = self._shared = doubles(0)
        self._active = integers(self._n)

    cdef settle(self, double[::1] block, Py_ssize_t first, Py_ssize_t width):
        """Set the block of the cells."""
        if self._kind == ADAGRAD:
            self._common = doubles(block.shape[0] // width)
        self._block, self._first, self._width = block, first, width

    cdef score(self, Example x):
        """Compute `scores`."""
        cdef Py_ssize_t c
        cdef double* cells = &self._block[self._first]
        cdef double* scores = &self.scores[0]
        cdef double* sums = &self._sums[0]
        cdef int* slots = &x.slots[0] + x.first_slot
        cdef double* values = &x.values[0] + x.first_value
        for c in range(self._n):
            scores[c] = (<LinearRule>self.rules[c]).bias if self._kind != ANY else (<LinearRule>self.rules[c]).score(x)
        if self._kind == ADAGRAD:
            if x.n > self._shared.shape[0]:
                self._ratios, self._shared = doubles(2 * x.n * self.n_lanes), doubles(2 * x.n)
            memset(sums, 0, self.n_lanes * sizeof(double))
            if x.n > 0:
                add_scaled(
                    cells, cells + self.n_lanes, self._width, self.n_lanes, self._n, slots, values, x.n,
                    &self._common[0], &self._shared[0], &self._ratios[0], scores, sums
                )
        elif self._kind != ANY:
            add_products(cells, self._width, self.n_lanes, slots, values, x.n, scores)
        if self._kind == BAYESIAN:
            self._measure(x)
            for c in range(self._n):
                scores[c] *= moderation_at(sums[c])

    cdef void _measure(self, Example x) noexcept:
        """Compute the variances of the scores."""
        cdef Py_ssize_t c
        cdef double* cells = &self._block[self._first + self.n_lanes]
        cdef int* slots = &x.slots[0] + x.first_slot
        cdef double* values = &x.values[0] + x.first_value
        cdef double forgetting = (<ConfidenceWeightedRule>self.rules[0]).forgetting
        for c in range(self._n):
            self._sums[c] = (<ConfidenceWeightedRule>self.rules[c]).bias_variance_now()
        add_variances(cells, self._width, self.n_lanes, slots, values, x.n, forgetting, &self._sums[0])

    cdef learn(self, Example x, Py_ssize_t number, double w):
        """Learn the last scored example, with its class and weight w."""
        cdef Py_ssize_t c
        if self._kind == ADAGRAD:
            self._learn_adagrad(x, number, w)
        elif self._kind == BAYESIAN:
            self._learn_bayesian(x, number, w)
        elif self._kind == LOGISTIC:
            self._learn_logistic(x, number, w)
        else:
            for c in range(self._n):
                (<LinearRule>self.rules[c]).learn_at(x, 1 if c == number else -1, w, self.scores[c])

    cdef void _learn_adagrad(self, Example x, Py_ssize_t number, double w) noexcept:
        cdef Py_ssize_t c, n_active = 0
        cdef NormalizedAdaGradRule rule
        cdef int sign
        cdef double a, slope
        for c in range(self._n):
            rule, sign, a = self.rules[c], 1 if c == number else -1, self.scores[c]
            self._steps[c] = slope = rule.slope(sign, a) * w if sign * a < rule.margin else 0.0
            self._rests[c] = 0.0
            rule.n_mistakes += rule.predicts_true(a) != (sign > 0)
            rule.n_examples += 1
            rule.squared_sum += self._sums[c] + rule.fit_intercept
            if slope != 0 and rule.squared_sum > 0:
                self._rests[c] = rule.rate()
                self._active[n_active] = c
                n_active += 1
                if rule.fit_intercept:
                    rule.descend_bias(slope, self._rests[c])
            rule.n_updates += slope != 0
        if x.n > 0:
            descend(
                &self._block[self._first], self._width, self.n_lanes, &x.slots[0] + x.first_slot,
                &x.values[0] + x.first_value, x.n, &self._common[0], &self._shared[0],
                &self._ratios[0], &self._steps[0], &self._rests[0],
                (<NormalizedAdaGradRule>self.rules[0]).epsilon, &self._active[0], n_active
            )

    cdef void _learn_bayesian(self, Example x, Py_ssize_t number, double w) noexcept:
        cdef Py_ssize_t c
        cdef BayesianLogisticRule rule
        cdef int sign
        cdef double a, v, step
        for c in range(self._n):
            rule, sign, a, v = self.rules[c], 1 if c == number else -1, self.scores[c], self._sums[c]
            self._steps[c] = step = rule.step_at(sign, w, a, v)
            self._rests[c] = rule.rho
            rule.update_bias(step, rule.rho, v)
            rule.n_mistakes += rule.predicts_true(a) != (sign > 0)
            rule.n_updates += step != 0
        for c in range(self._n, self.n_lanes):
            self._rests[c] = 1.0
        move_and_shrink(
            &self._block[self._first], &self._block[self._first + self.n_lanes], self._width, self.n_lanes,
            &x.slots[0] + x.first_slot, &x.values[0] + x.first_value, x.n,
            (<BayesianLogisticRule>self.rules[0]).forgetting, &self._steps[0], &self._rests[0], &self._sums[0]
        )

    cdef void _learn_logistic(self, Example x, Py_ssize_t number, double w) noexcept:
        cdef Py_ssize_t c
        cdef LogisticRegressionRule rule
        cdef int sign
        cdef double a, step
        for c in range(self._n):
            rule, sign, a = self.rules[c], 1 if c == number else -1, self.scores[c]
            self._steps[c] = step = rule.step_at(sign, w, a)
            if step != 0:
                rule.n_updates += 1
                if rule.fit_intercept:
                    rule.bias += step
            rule.n_mistakes += rule.predicts_true(a) != (sign > 0)
        add_steps(
            &self._block[self._first], self._width, self.n_lanes, &x.slots[0] + x.first_slot,
            &x.values[0] + x.first_value, x.n, &self._steps[0]
        )
