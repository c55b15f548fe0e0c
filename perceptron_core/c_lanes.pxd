# What lanes.py does, in C, inlined where it is called: modules cimport this as `lanes`. No module of its own.

cdef extern from *:
    """
    #include <stdint.h>

    /* Where the loader can choose, a second form for processors that compute with four doubles at once. */
    #if defined(__GNUC__) && defined(__x86_64__) && defined(__GLIBC__) && !defined(__clang__)
    #define FOR_TWO_PROCESSORS __attribute__((target_clones("avx2", "default")))
    #else
    #define FOR_TWO_PROCESSORS
    #endif

    FOR_TWO_PROCESSORS static void add_product(
        double *CYTHON_RESTRICT sums, const double *CYTHON_RESTRICT numbers, double factor, Py_ssize_t n
    ) {
        for (Py_ssize_t k = 0; k < n; k++) sums[k] += numbers[k] * factor;
    }
    FOR_TWO_PROCESSORS static void add_squares(
        float *CYTHON_RESTRICT sums, const float *CYTHON_RESTRICT numbers, float value, Py_ssize_t n
    ) {
        for (Py_ssize_t k = 0; k < n; k++) {
            float difference = numbers[k] - value;
            sums[k] += difference * difference;
        }
    }
    FOR_TWO_PROCESSORS static void add_mismatches(
        float *CYTHON_RESTRICT sums, const float *CYTHON_RESTRICT numbers, float value, Py_ssize_t n
    ) {
        for (Py_ssize_t k = 0; k < n; k++) sums[k] += numbers[k] != value ? 2.0f : 0.0f;
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
    void c_add_product "add_product"(double* sums, const double* numbers, double factor, Py_ssize_t n) noexcept
    void c_add_squares "add_squares"(float* sums, const float* numbers, float value, Py_ssize_t n) noexcept
    void c_add_mismatches "add_mismatches"(float* sums, const float* numbers, float value, Py_ssize_t n) noexcept
    void c_multiply "multiply_symmetric"(
        const double* matrix, Py_ssize_t width, Py_ssize_t n, const double* vector, double* product
    ) noexcept
    void c_subtract "subtract_square"(
        double* matrix, Py_ssize_t width, Py_ssize_t n, const double* vector, double factor
    ) noexcept


cdef inline void add_product(
    double[::1] sums, const double[::1] numbers, Py_ssize_t first, double factor, Py_ssize_t n
) noexcept:
    c_add_product(&sums[0], &numbers[first], factor, n)


cdef inline void add_squares(
    float[::1] sums, const float[::1] numbers, Py_ssize_t first, float value, Py_ssize_t n
) noexcept:
    c_add_squares(&sums[0], &numbers[first], value, n)


cdef inline void add_mismatches(
    float[::1] sums, const float[::1] numbers, Py_ssize_t first, float value, Py_ssize_t n
) noexcept:
    c_add_mismatches(&sums[0], &numbers[first], value, n)


cdef inline void multiply_symmetric(
    const double[::1] matrix, Py_ssize_t width, Py_ssize_t n, const double[::1] vector, double[::1] product
) noexcept:
    c_multiply(&matrix[0], width, n, &vector[0], &product[0])


cdef inline void subtract_square(
    double[::1] matrix, Py_ssize_t width, Py_ssize_t n, const double[::1] vector, double factor
) noexcept:
    c_subtract(&matrix[0], width, n, &vector[0], factor)
