"""Learners of one kind, one for each class against the rest: the compiled form of `one_vs_rest.py`, which
documents it.

For each class, features are added in the same order as in a single learner, so results are bit-identical.
"""

from libc.math cimport fabs
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
    #if defined(__GNUC__)
    #define ALWAYS_INLINE inline __attribute__((always_inline))
    typedef double four_doubles __attribute__((vector_size(32)));
    #else
    #define ALWAYS_INLINE inline
    #endif

    /* A sum over features for each of four or eight classes, which stays in registers. */
    #define FOUR(DO) DO(0) DO(1) DO(2) DO(3)
    #define EIGHT(DO) FOUR(DO) DO(4) DO(5) DO(6) DO(7)
    #define TAKE(j) double sum##j = sums[j];
    #define GIVE(j) sums[j] = sum##j;
    #define ADD_PRODUCT(j) sum##j += row[j] * x;
    #define ADD_VARIANCE(j) sum##j += row[j] * x * x;
    #define SUM_OF_SOME(name, SOME, ADD) \\
        static ALWAYS_INLINE void name( \\
            const double *cells, Py_ssize_t width, const int *slots, const double *values, Py_ssize_t n, double *sums \\
        ) { \\
            SOME(TAKE) \\
            for (Py_ssize_t k = 0; k < n; k++) { \\
                const double *row = cells + slots[k] * width, x = values[k]; \\
                SOME(ADD) \\
            } \\
            SOME(GIVE) \\
        }
    #define SUM_OF(name, ADD) \\
        SUM_OF_SOME(name##_of_four, FOUR, ADD) \\
        SUM_OF_SOME(name##_of_eight, EIGHT, ADD) \\
        FOR_TWO_PROCESSORS static void name( \\
            const double *cells, Py_ssize_t width, Py_ssize_t n_lanes, const int *slots, const double *values, \\
            Py_ssize_t n, double *sums \\
        ) { \\
            Py_ssize_t c = 0; \\
            for (; c + 8 <= n_lanes; c += 8) name##_of_eight(cells + c, width, slots, values, n, sums + c); \\
            for (; c < n_lanes; c += 4) name##_of_four(cells + c, width, slots, values, n, sums + c); \\
        }
    SUM_OF(add_products, ADD_PRODUCT)
    SUM_OF(add_variances, ADD_VARIANCE)

    FOR_TWO_PROCESSORS static void add_inflated(
        const double *cells, Py_ssize_t width, Py_ssize_t n_lanes, const int *slots, const double *values,
        Py_ssize_t n, double forgetting, double *CYTHON_RESTRICT sums
    ) {
        n_lanes &= ~(Py_ssize_t)3;
        for (Py_ssize_t k = 0; k < n; k++) {
            const double *CYTHON_RESTRICT row = cells + slots[k] * width, x = values[k];
            for (Py_ssize_t c = 0; c < n_lanes; c++) {
                double own = row[c] / forgetting;
                sums[c] += (own < 1.0 ? own : 1.0) * x * x;
            }
        }
    }

    /* Sums of scaled values, a few of which differ by class; and sums of their squares. */
    #define TAKE_SQUARES(j) double square##j = squares[j];
    #define GIVE_SQUARES(j) squares[j] = square##j;
    #define ADD_COMMON(j) sum##j += row[j] * ratio, square##j += ratio * ratio;
    #define ADD_OWN(j) sum##j += row[j] * own[j], square##j += own[j] * own[j];
    #define ADD_SCALED(SOME) \\
        SOME(TAKE) SOME(TAKE_SQUARES) \\
        for (Py_ssize_t k = 0; k < n; k++) { \\
            const double *row = cells + slots[k] * width + c, *own = by_class + k * n_lanes + c, ratio = ratios[k]; \\
            if (is_common[k]) {SOME(ADD_COMMON)} \\
            else {SOME(ADD_OWN)} \\
        } \\
        SOME(GIVE) SOME(GIVE_SQUARES)
    FOR_TWO_PROCESSORS static void add_scaled(
        const double *cells, Py_ssize_t width, Py_ssize_t n_lanes, const int *slots, const double *ratios,
        const double *by_class, const unsigned char *is_common, Py_ssize_t n, double *sums, double *squares
    ) {
        Py_ssize_t c = 0;
        for (; c + 8 <= n_lanes; c += 8, sums += 8, squares += 8) {ADD_SCALED(EIGHT)}
        for (; c < n_lanes; c += 4, sums += 4, squares += 4) {ADD_SCALED(FOUR)}
    }
    /* Raise scales that are not 0; return whether there were any. */
    FOR_TWO_PROCESSORS static int raise_scales(double *scales, Py_ssize_t n_lanes, double size) {
        Py_ssize_t n_raised = 0;
        n_lanes &= ~(Py_ssize_t)3;
        for (Py_ssize_t c = 0; c < n_lanes; c++) {
            Py_ssize_t is_less = (scales[c] < size) & (scales[c] > 0);
            scales[c] = is_less ? size : scales[c];
            n_raised += is_less;
        }
        return n_raised > 0;
    }
    FOR_TWO_PROCESSORS static void divide(
        double value, const double *scales, Py_ssize_t n_lanes, double *CYTHON_RESTRICT found
    ) {
        double size = value < 0 ? -value : value;
        n_lanes &= ~(Py_ssize_t)3;
        for (Py_ssize_t c = 0; c < n_lanes; c++) {
            double scale = scales[c] > size ? scales[c] : size;
            found[c] = value / (scale != 0 ? scale : 1.0);
        }
    }

    /* One class; several features at once. */
    FOR_TWO_PROCESSORS static void descend(
        double *weights, double *squares, Py_ssize_t width, const int *slots, const double *ratios, Py_ssize_t n,
        double slope, double rate, double epsilon
    ) {
        Py_ssize_t k = 0;
    #if defined(__GNUC__)
        for (; k + 4 <= n; k += 4) {
            Py_ssize_t a = slots[k] * width, b = slots[k + 1] * width;
            Py_ssize_t c = slots[k + 2] * width, d = slots[k + 3] * width;
            four_doubles ratio = {ratios[k], ratios[k + 1], ratios[k + 2], ratios[k + 3]};
            four_doubles square = {squares[a], squares[b], squares[c], squares[d]};
            four_doubles weight = {weights[a], weights[b], weights[c], weights[d]};
            four_doubles gradient = slope * ratio, root;
            square = square + gradient * gradient;
            root = epsilon + square;
            for (int j = 0; j < 4; j++) root[j] = sqrt(root[j]);
            weight -= rate * (gradient / root);
            squares[a] = square[0], squares[b] = square[1], squares[c] = square[2], squares[d] = square[3];
            weights[a] = weight[0], weights[b] = weight[1], weights[c] = weight[2], weights[d] = weight[3];
        }
    #endif
        for (; k < n; k++) {
            Py_ssize_t at = slots[k] * width;
            double gradient = slope * ratios[k], square = squares[at] + gradient * gradient;
            squares[at] = square;
            weights[at] -= rate * (gradient / sqrt(epsilon + square));
        }
    }

    /* Means and variances of all classes. A class without a step only forgets. */
    FOR_TWO_PROCESSORS static void move_and_shrink(
        double *means, double *deviations, Py_ssize_t width, Py_ssize_t n_lanes, const int *slots,
        const double *values, Py_ssize_t n, double forgetting, const double *steps, const double *rests,
        const double *totals
    ) {
        n_lanes &= ~(Py_ssize_t)3;
        if (forgetting < 1)
            for (Py_ssize_t k = 0; k < n; k++) {
                double *CYTHON_RESTRICT variance = deviations + slots[k] * width;
                for (Py_ssize_t c = 0; c < n_lanes; c++) {
                    double own = variance[c] / forgetting;
                    variance[c] = own < 1.0 ? own : 1.0;
                }
            }
        for (Py_ssize_t k = 0; k < n; k++) {
            double *CYTHON_RESTRICT mean = means + slots[k] * width;
            double *CYTHON_RESTRICT variance = deviations + slots[k] * width;
            const double x = values[k];
            for (Py_ssize_t c = 0; c < n_lanes; c++) {
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
        n_lanes &= ~(Py_ssize_t)3;
        for (Py_ssize_t k = 0; k < n; k++) {
            double *CYTHON_RESTRICT row = weights + slots[k] * width;
            const double x = values[k];
            for (Py_ssize_t c = 0; c < n_lanes; c++) row[c] += steps[c] * x;
        }
    }
    """
    void add_products(
        const double* cells, Py_ssize_t width, Py_ssize_t n_lanes, const int* slots, const double* values, Py_ssize_t n,
        double* sums
    ) noexcept
    void add_variances(
        const double* cells, Py_ssize_t width, Py_ssize_t n_lanes, const int* slots, const double* values, Py_ssize_t n,
        double* sums
    ) noexcept
    void add_inflated(
        const double* cells, Py_ssize_t width, Py_ssize_t n_lanes, const int* slots, const double* values, Py_ssize_t n,
        double forgetting, double* sums
    ) noexcept
    void add_scaled(
        const double* cells, Py_ssize_t width, Py_ssize_t n_lanes, const int* slots, const double* ratios,
        const double* by_class, const unsigned char* is_common, Py_ssize_t n, double* sums, double* squares
    ) noexcept
    bint raise_scales(double* scales, Py_ssize_t n_lanes, double size) noexcept
    void divide(double value, const double* scales, Py_ssize_t n_lanes, double* found) noexcept
    void descend(
        double* weights, double* squares, Py_ssize_t width, const int* slots, const double* ratios, Py_ssize_t n,
        double slope, double rate, double epsilon
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

cdef enum Scales:  # of a feature, by class
    DIFFERENT, SAME_OR_ZERO, SAME


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
        self._ratios = self._ratios_by_class = self._largest = doubles(0)
        self._is_common = self._scales = bytearray()
        self._uncommon, self._active = integers(0), integers(self._n)

    cdef settle(self, double[::1] block, Py_ssize_t first, Py_ssize_t width):
        """Set the block of the cells."""
        cdef Py_ssize_t n_slots = block.shape[0] // width
        if self._kind == ADAGRAD and n_slots > self._largest.shape[0]:
            largest, scales = doubles(n_slots), bytearray(n_slots)
            self._largest, self._scales = largest, scales
        self._block, self._first, self._width = block, first, width
        self.look()

    cdef void look(self) noexcept:
        """Compare the scales of all classes."""
        cdef Py_ssize_t slot
        if self._kind == ADAGRAD:
            for slot in range(self._block.shape[0] // self._width):
                self._compare(slot)

    cdef int _reserve(self, Py_ssize_t n) except -1:
        """Make room for the ratios of n features."""
        if n > self._is_common.shape[0]:
            ratios, by_class = doubles(2 * n), doubles(2 * n * self.n_lanes)
            is_common, uncommon = bytearray(2 * n), integers(2 * n)
            self._ratios, self._ratios_by_class = ratios, by_class
            self._is_common, self._uncommon = is_common, uncommon
        return 0

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
            self._reserve(x.n)
            self._divide(x)
            memset(sums, 0, self.n_lanes * sizeof(double))
            if x.n > 0:
                add_scaled(
                    cells, self._width, self.n_lanes, slots, &self._ratios[0], &self._ratios_by_class[0],
                    &self._is_common[0], x.n, scores, sums
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
        if forgetting < 1:
            add_inflated(cells, self._width, self.n_lanes, slots, values, x.n, forgetting, &self._sums[0])
        else:
            add_variances(cells, self._width, self.n_lanes, slots, values, x.n, &self._sums[0])

    cdef void _divide(self, Example x) noexcept:
        """Compute x/max(|x|, L) of each feature: only once if it is the same for all classes."""
        cdef Py_ssize_t k, slot
        cdef double value, size
        self._n_uncommon = 0
        for k in range(x.n):
            slot, value = x.slots[x.first_slot + k], x.values[x.first_value + k]
            size = fabs(value)
            self._is_common[k] = self._scales[slot] == SAME or size >= self._largest[slot]
            if self._is_common[k]:
                size = max(size, self._largest[slot])
                self._ratios[k] = value / (size if size != 0 else 1.0)
            else:
                self._uncommon[self._n_uncommon] = k
                self._n_uncommon += 1
                divide(
                    value, &self._block[slot * self._width + self._first + self.n_lanes], self.n_lanes,
                    &self._ratios_by_class[k * self.n_lanes]
                )

    cdef void _compare(self, Py_ssize_t slot) noexcept:
        """Find the largest scale of a feature among all classes, and whether scales differ."""
        cdef double* scales = &self._block[slot * self._width + self._first + self.n_lanes]
        cdef double largest = scales[0]
        cdef Py_ssize_t c, n_largest = 0, n_zeros = 0
        for c in range(1, self._n):
            largest = max(largest, scales[c])
        for c in range(self._n):
            n_largest += scales[c] == largest
            n_zeros += scales[c] == 0
        self._largest[slot] = largest
        if n_largest == self._n:
            self._scales[slot] = SAME
        else:
            self._scales[slot] = SAME_OR_ZERO if n_largest + n_zeros == self._n else DIFFERENT

    cdef void _raise(self, Example x, Py_ssize_t n_active) noexcept:
        """Replace the scales below |x|; replace a scale of 0 only in classes with a step."""
        cdef Py_ssize_t k, slot, j
        cdef double size
        cdef double* scales
        cdef bint is_raised
        for k in range(x.n):
            slot, size = x.slots[x.first_slot + k], fabs(x.values[x.first_value + k])
            if size <= self._largest[slot] and self._scales[slot] == SAME:
                continue
            scales, is_raised = &self._block[slot * self._width + self._first + self.n_lanes], False
            if size > self._largest[slot] or self._scales[slot] == DIFFERENT:
                is_raised = raise_scales(scales, self.n_lanes, size)
            for j in range(n_active):
                if size > scales[self._active[j]]:
                    scales[self._active[j]], is_raised = size, True
            if is_raised:
                self._compare(slot)

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
        cdef Py_ssize_t c, j, n_active = 0
        cdef NormalizedAdaGradRule rule
        cdef int sign
        cdef double a
        for c in range(self._n):
            rule, sign, a = self.rules[c], 1 if c == number else -1, self.scores[c]
            self._steps[c] = rule.slope(sign, a) * w if sign * a < rule.margin else 0.0
            rule.n_mistakes += rule.predicts_true(a) != (sign > 0)
            rule.n_examples += 1
            rule.squared_sum += self._sums[c] + rule.fit_intercept
            if self._steps[c] != 0:
                self._active[n_active] = c
                n_active += 1
        self._raise(x, n_active)
        for j in range(n_active):
            c = self._active[j]
            rule = self.rules[c]
            if rule.squared_sum > 0:
                self._descend(x, c, rule.rate())
                if rule.fit_intercept:
                    rule.descend_bias(self._steps[c], rule.rate())
            rule.n_updates += 1

    cdef void _descend(self, Example x, Py_ssize_t c, double rate) noexcept:
        """Move the weights of a class against the gradient."""
        cdef Py_ssize_t j
        for j in range(self._n_uncommon):
            self._ratios[self._uncommon[j]] = self._ratios_by_class[self._uncommon[j] * self.n_lanes + c]
        descend(
            &self._block[self._first + c], &self._block[self._first + 2 * self.n_lanes + c], self._width,
            &x.slots[0] + x.first_slot, &self._ratios[0], x.n, self._steps[c], rate,
            (<NormalizedAdaGradRule>self.rules[c]).epsilon
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
