"""Loops over numbers, several at once: the compiled form of `lanes.py`, which says what they mean."""

cdef extern from *:
    """
    /* Four columns at once: sums are read and written a quarter as often. */
    FOR_TWO_PROCESSORS static void add_products(
        double *CYTHON_RESTRICT sums, const double *CYTHON_RESTRICT cells, const int *CYTHON_RESTRICT starts,
        const double *CYTHON_RESTRICT factors, Py_ssize_t n_columns, Py_ssize_t n
    ) {
        Py_ssize_t j = 0;
        for (; j + 4 <= n_columns; j += 4) {
            const double *a = cells + starts[j], *b = cells + starts[j + 1];
            const double *c = cells + starts[j + 2], *d = cells + starts[j + 3];
            const double p = factors[j], q = factors[j + 1], r = factors[j + 2], s = factors[j + 3];
            for (Py_ssize_t k = 0; k < n; k++) sums[k] = sums[k] + a[k] * p + b[k] * q + c[k] * r + d[k] * s;
        }
        for (; j < n_columns; j++) {
            const double *a = cells + starts[j], p = factors[j];
            for (Py_ssize_t k = 0; k < n; k++) sums[k] += a[k] * p;
        }
    }
    static inline float squared(float x) { return x * x; }
    FOR_TWO_PROCESSORS static void add_squares(
        float *CYTHON_RESTRICT sums, const float *CYTHON_RESTRICT cells, const int *CYTHON_RESTRICT starts,
        const float *CYTHON_RESTRICT values, Py_ssize_t n_columns, Py_ssize_t n
    ) {
        Py_ssize_t j = 0;
        for (; j + 4 <= n_columns; j += 4) {
            const float *a = cells + starts[j], *b = cells + starts[j + 1];
            const float *c = cells + starts[j + 2], *d = cells + starts[j + 3];
            const float p = values[j], q = values[j + 1], r = values[j + 2], s = values[j + 3];
            for (Py_ssize_t k = 0; k < n; k++)
                sums[k] = sums[k] + squared(a[k] - p) + squared(b[k] - q) + squared(c[k] - r) + squared(d[k] - s);
        }
        for (; j < n_columns; j++) {
            const float *a = cells + starts[j], p = values[j];
            for (Py_ssize_t k = 0; k < n; k++) sums[k] += squared(a[k] - p);
        }
    }
    FOR_TWO_PROCESSORS static void add_mismatches(
        float *CYTHON_RESTRICT sums, const float *CYTHON_RESTRICT cells, float value, Py_ssize_t n
    ) {
        for (Py_ssize_t k = 0; k < n; k++) sums[k] += cells[k] != value ? 2.0f : 0.0f;
    }
    FOR_TWO_PROCESSORS static Py_ssize_t last_below(
        const float *CYTHON_RESTRICT numbers, Py_ssize_t first, Py_ssize_t end, float limit
    ) {
        while (end - first >= 32) {
            int is_any = 0;
            for (int k = 0; k < 32; k++) is_any |= numbers[end - 32 + k] < limit;
            if (is_any) break;
            end -= 32;
        }
        do end--; while (end >= first && !(numbers[end] < limit));
        return end;
    }
    /* Eight sums at once, in registers. Behind n columns of a row there are zeros up to a multiple of eight. */
    FOR_TWO_PROCESSORS static void multiply_symmetric(
        const double *CYTHON_RESTRICT matrix, Py_ssize_t width, Py_ssize_t n, const double *CYTHON_RESTRICT vector,
        double *CYTHON_RESTRICT product
    ) {
        for (Py_ssize_t i = 0; i < n; i += 8) {
            double sums[8] = {0.0};
            for (Py_ssize_t j = 0; j < n; j++)
                for (int k = 0; k < 8; k++) sums[k] += matrix[j * width + i + k] * vector[j];
            for (int k = 0; k < 8; k++) product[i + k] = sums[k];
        }
    }
    FOR_TWO_PROCESSORS static void subtract_square(
        double *CYTHON_RESTRICT matrix, Py_ssize_t width, Py_ssize_t n, const double *CYTHON_RESTRICT vector,
        double factor
    ) {
        const Py_ssize_t end = (n + 3) & ~(Py_ssize_t)3;
        for (Py_ssize_t i = 0; i < n; i++) {
            double *CYTHON_RESTRICT row = matrix + i * width;
            for (Py_ssize_t j = 0; j < end; j++) row[j] = (row[j] - vector[i] * vector[j]) * factor;
        }
    }
    """
    void c_add_products "add_products"(
        double* sums, const double* cells, const int* starts, const double* factors, Py_ssize_t n_columns, Py_ssize_t n
    ) noexcept
    void c_add_squares "add_squares"(
        float* sums, const float* cells, const int* starts, const float* values, Py_ssize_t n_columns, Py_ssize_t n
    ) noexcept
    void c_add_mismatches "add_mismatches"(float* sums, const float* cells, float value, Py_ssize_t n) noexcept
    Py_ssize_t c_last_below "last_below"(
        const float* numbers, Py_ssize_t first, Py_ssize_t end, float limit
    ) noexcept
    void c_multiply "multiply_symmetric"(
        const double* matrix, Py_ssize_t width, Py_ssize_t n, const double* vector, double* product
    ) noexcept
    void c_subtract "subtract_square"(
        double* matrix, Py_ssize_t width, Py_ssize_t n, const double* vector, double factor
    ) noexcept


cpdef void add_products(
    double[::1] sums, const double[::1] cells, const int[::1] starts, const double[::1] factors, Py_ssize_t n_columns,
    Py_ssize_t n
) noexcept:
    """Add columns of n cells to n sums, each times its factor."""
    c_add_products(&sums[0], &cells[0], &starts[0], &factors[0], n_columns, n)


cpdef void add_squares(
    float[::1] sums, const float[::1] cells, const int[::1] starts, const float[::1] values, Py_ssize_t n_columns,
    Py_ssize_t n
) noexcept:
    """Add the squared differences of columns and a value of each."""
    c_add_squares(&sums[0], &cells[0], &starts[0], &values[0], n_columns, n)


cpdef void add_mismatches(
    float[::1] sums, const float[::1] cells, Py_ssize_t first, float value, Py_ssize_t n
) noexcept:
    """Add 2 for each of n cells that is not a value."""
    c_add_mismatches(&sums[0], &cells[first], value, n)


cpdef Py_ssize_t last_below(
    const float[::1] numbers, Py_ssize_t first, Py_ssize_t end, float limit
) noexcept:
    """Return the last place from `first` to `end` of a number below a limit; first − 1 if there is none."""
    return c_last_below(&numbers[0], first, end, limit)


cpdef void multiply_symmetric(
    const double[::1] matrix, Py_ssize_t width, Py_ssize_t n, const double[::1] vector, double[::1] product
) noexcept:
    """Write the product of a symmetric matrix and a vector of n numbers."""
    c_multiply(&matrix[0], width, n, &vector[0], &product[0])


cpdef void subtract_square(
    double[::1] matrix, Py_ssize_t width, Py_ssize_t n, const double[::1] vector, double factor
) noexcept:
    """Write (matrix − vector·vectorᵀ)·factor of n rows and columns."""
    c_subtract(&matrix[0], width, n, &vector[0], factor)
