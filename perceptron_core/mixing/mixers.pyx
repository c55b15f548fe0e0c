"""Mixers of the same parameters, one for each class: the compiled form of `mixers.py`, which says what it means.

Of the covariance, which is symmetric to the bit, the rows up to the diagonal are kept. Sums go in the order of
`Mixer`: no bit is different.
"""

from perceptron_core cimport lanes  # no-cython-lint: for FOR_TWO_PROCESSORS
from perceptron_core.logistic cimport logistic
from perceptron_core.mixing.mixer cimport MAX_LEARNED, Mixer, _LARGEST_WEIGHT
from perceptron_core.weights.buffers import doubles

cdef extern from *:
    """
    #include <math.h>

    #define FOUR(DO) DO(0) DO(1) DO(2) DO(3)
    #define ZERO(c) double sum##c = 0.0;
    #define GIVE(c) sums[c] = sum##c;
    #define TAKE(c) const double cell##c = cells[c], other##c = others[c];
    #define ADD(c) sum##c += cell##c * other##c;
    #define SPREAD(c) row_gain[c] += cell##c * own[c];

    /* Of four classes: v·z. */
    FOR_TWO_PROCESSORS static void dot_of_four(
        const double *cells, const double *others, Py_ssize_t n, double *sums
    ) {
        FOUR(ZERO)
        for (Py_ssize_t j = 0; j < n; j++, cells += 4, others += 4) {FOUR(TAKE) FOUR(ADD)}
        FOUR(GIVE)
    }
    /* Of four classes: g = S·z. A row goes to its own sum, and as a column to those of the rows before. */
    FOR_TWO_PROCESSORS static void aim_of_four(
        const double *CYTHON_RESTRICT cells, const double *CYTHON_RESTRICT z, Py_ssize_t n,
        double *CYTHON_RESTRICT gain
    ) {
        for (Py_ssize_t i = 0; i < n; i++) {
            const double *own = z + 4 * i, *others = z;
            double *row_gain = gain, *sums = gain + 4 * i;
            FOUR(ZERO)
            for (Py_ssize_t j = 0; j < i; j++, cells += 4, others += 4, row_gain += 4) {
                FOUR(TAKE) FOUR(ADD) FOUR(SPREAD)
            }
            {FOUR(TAKE) FOUR(ADD)}
            cells += 4;
            FOUR(GIVE)
        }
    }
    /* Of four classes: v + step·g, and (S − √s·g·(√s·g)ᵀ)·keep. */
    FOR_TWO_PROCESSORS static void move_four(
        double *CYTHON_RESTRICT weights, double *CYTHON_RESTRICT cells, double *CYTHON_RESTRICT gain, Py_ssize_t n,
        const double *steps, const double *shrinkages, const double *keeps
    ) {
        double roots[4];
        for (int c = 0; c < 4; c++) roots[c] = sqrt(shrinkages[c]);
        for (Py_ssize_t i = 0; i < n; i++)
            for (int c = 0; c < 4; c++) {
                weights[4 * i + c] += steps[c] * gain[4 * i + c];
                gain[4 * i + c] *= roots[c];
            }
        for (Py_ssize_t i = 0; i < n; i++) {
            const double *own = gain + 4 * i;
            const double a = own[0], b = own[1], d = own[2], e = own[3];
            for (Py_ssize_t j = 0; j <= i; j++, cells += 4) {
                const double *other = gain + 4 * j;
                cells[0] = (cells[0] - a * other[0]) * keeps[0];
                cells[1] = (cells[1] - b * other[1]) * keeps[1];
                cells[2] = (cells[2] - d * other[2]) * keeps[2];
                cells[3] = (cells[3] - e * other[3]) * keeps[3];
            }
        }
    }
    /* Of four classes: rows and columns are shrunk whose variance exceeds the first one. */
    FOR_TWO_PROCESSORS static void bound_four(
        double *CYTHON_RESTRICT cells, double *CYTHON_RESTRICT factors, Py_ssize_t n, double variance
    ) {
        int excess = 0;
        for (Py_ssize_t i = 0; i < n; i++)
            for (int c = 0; c < 4; c++) {
                double own = cells[4 * (i * (i + 3) / 2) + c];
                excess |= own > variance;
                factors[4 * i + c] = own > variance ? sqrt(variance / own) : 1.0;
            }
        if (excess)
            for (Py_ssize_t i = 0; i < n; i++) {
                const double *own = factors + 4 * i;
                const double a = own[0], b = own[1], d = own[2], e = own[3];
                for (Py_ssize_t j = 0; j <= i; j++, cells += 4) {
                    const double *other = factors + 4 * j;
                    cells[0] *= a * other[0];
                    cells[1] *= b * other[1];
                    cells[2] *= d * other[2];
                    cells[3] *= e * other[3];
                }
            }
    }
    """
    void dot_of_four(const double* cells, const double* others, Py_ssize_t n, double* sums) noexcept
    void aim_of_four(const double* cells, const double* z, Py_ssize_t n, double* gain) noexcept
    void move_four(
        double* weights, double* cells, double* gain, Py_ssize_t n, const double* steps, const double* shrinkages,
        const double* keeps
    ) noexcept
    void bound_four(double* cells, double* factors, Py_ssize_t n, double variance) noexcept


cdef class Mixers:
    """Mixes and learns as each of its mixers would by itself; they know of it after `give`."""

    def __init__(self, mixers):
        cdef Mixer first = mixers[0]
        self._mixers = [*mixers]
        self._n, self._n_inputs = len(self._mixers), first.n
        self._n_groups = (self._n + 3) // 4
        self._variance, self._forgetting = first.variance, first.forgetting
        self.answers = doubles(4 * self._n_groups)
        self._weights = doubles(4 * self._n_groups * self._n_inputs)
        self._covariance = doubles(2 * self._n_groups * self._n_inputs * (self._n_inputs + 1))
        self._gain, self._shrinkage, self._steps, self._keeps = (
            doubles(4 * self._n_inputs), doubles(4), doubles(4), doubles(4)
        )
        self._take()

    cdef void _take(self) noexcept:
        """Take what the mixers learned."""
        cdef Py_ssize_t c, i, j, n = self._n_inputs, start, first
        cdef Mixer mixer
        for c in range(self._n):
            mixer = self._mixers[c]
            start, first = c // 4 * 4 * n + c % 4, c // 4 * 2 * n * (n + 1) + c % 4
            for i in range(n):
                self._weights[start + 4 * i] = mixer._weights[i]
                for j in range(i + 1):
                    self._covariance[first + 4 * (i * (i + 1) // 2 + j)] = mixer._covariance[i * mixer._capacity + j]

    cpdef void give(self) noexcept:
        """Let the mixers know what was learned."""
        cdef Py_ssize_t c, i, j, n = self._n_inputs, start, first
        cdef Mixer mixer
        cdef double cell
        for c in range(self._n):
            mixer = self._mixers[c]
            start, first = c // 4 * 4 * n + c % 4, c // 4 * 2 * n * (n + 1) + c % 4
            for i in range(n):
                mixer._weights[i] = self._weights[start + 4 * i]
                for j in range(i + 1):
                    cell = self._covariance[first + 4 * (i * (i + 1) // 2 + j)]
                    mixer._covariance[i * mixer._capacity + j] = mixer._covariance[j * mixer._capacity + i] = cell

    cpdef void mix(self, const double[::1] inputs, Py_ssize_t width, Py_ssize_t first) noexcept:
        """Compute the answers, of inputs from the first one given on."""
        cdef Py_ssize_t c, group, n = self._n_inputs
        if n == 0:
            return
        for group in range(self._n_groups):
            dot_of_four(
                &self._weights[4 * n * group], &inputs[4 * (width * group + first)], n, &self.answers[4 * group]
            )
        for c in range(self._n):
            if not -MAX_LEARNED <= self.answers[c] <= MAX_LEARNED:
                self.answers[c] = 0.0

    cpdef void learn(
        self, const double[::1] inputs, Py_ssize_t width, Py_ssize_t first, Py_ssize_t number, double w,
        const double[::1] information
    ) noexcept:
        """Learn an example of a class and weight w; each class has its `information`, as `Mixer.learn` says."""
        cdef Py_ssize_t c, group, n = self._n_inputs
        cdef double p, q, f
        cdef double[4] spreads
        cdef double* cells
        cdef const double* z
        if n == 0:
            return
        self.mix(inputs, width, first)
        w = min(w, _LARGEST_WEIGHT)
        for group in range(self._n_groups):
            cells, z = &self._covariance[2 * n * (n + 1) * group], &inputs[4 * (width * group + first)]
            aim_of_four(cells, z, n, &self._gain[0])
            dot_of_four(z, &self._gain[0], n, spreads)
            for c in range(4):
                p = logistic(self.answers[4 * group + c])
                q = w * p * (1.0 - p)
                f = 1.0 / (1.0 + q * max(spreads[c], 0.0))
                self._steps[c] = f * w * ((1.0 if 4 * group + c == number else 0.0) - p)
                self._shrinkage[c] = f * q
                if 4 * group + c < self._n:
                    self._keeps[c] = 1.0 / (1.0 - (1.0 - self._forgetting) * information[4 * group + c])
            move_four(
                &self._weights[4 * n * group], cells, &self._gain[0], n, &self._steps[0], &self._shrinkage[0],
                &self._keeps[0]
            )
            if self._forgetting < 1:
                bound_four(cells, &self._gain[0], n, self._variance)
