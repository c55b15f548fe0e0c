# What compiled code knows of lanes.pyx.

cdef extern from *:
    """
    #include <stdint.h>

    /* Where the loader can choose, a second form for processors that compute with four doubles at once. */
    #if defined(__GNUC__) && defined(__x86_64__) && defined(__GLIBC__) && !defined(__clang__)
    #define FOR_TWO_PROCESSORS __attribute__((target_clones("avx2", "default")))
    #else
    #define FOR_TWO_PROCESSORS
    #endif
    """


cpdef void add_products(
    double[::1] sums, const double[::1] cells, const int[::1] starts, const double[::1] factors, Py_ssize_t n_columns,
    Py_ssize_t n
) noexcept

cpdef void add_squares(
    float[::1] sums, const float[::1] cells, const int[::1] starts, const float[::1] values, Py_ssize_t n_columns,
    Py_ssize_t n
) noexcept

cpdef void add_mismatches(
    float[::1] sums, const float[::1] cells, Py_ssize_t first, float value, Py_ssize_t n
) noexcept

cpdef Py_ssize_t last_below(
    const float[::1] numbers, Py_ssize_t first, Py_ssize_t end, float limit
) noexcept

cpdef void multiply_symmetric(
    const double[::1] matrix, Py_ssize_t width, Py_ssize_t n, const double[::1] vector, double[::1] product
) noexcept

cpdef void subtract_square(
    double[::1] matrix, Py_ssize_t width, Py_ssize_t n, const double[::1] vector, double factor
) noexcept
