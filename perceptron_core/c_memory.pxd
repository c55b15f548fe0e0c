# What memory.py does, in C, inlined where it is called: modules cimport this as `memory`. No module of its own.
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from libc.stdint cimport uint64_t
from libc.string cimport memcpy

cdef extern from *:
    """
    #include <math.h>
    /* Where the loader can choose, a second form for processors that compute with four doubles at once. */
    #if defined(__GNUC__) && defined(__x86_64__) && defined(__GLIBC__) && !defined(__clang__)
    #define FOR_TWO_PROCESSORS __attribute__((target_clones("avx2", "default")))
    #else
    #define FOR_TWO_PROCESSORS
    #endif

    #if defined(__GNUC__)
    #define prefetch_cell(cell) __builtin_prefetch(cell, 1)
    #define prefetch_number(number) __builtin_prefetch(number)
    #else
    #define prefetch_number(number) ((void)(number))
    #define prefetch_cell(cell) ((void)(cell))
    #endif

    /* A number that no other dictionary has or had, nor this one before its last change (PEP 509); 0 where Python does
       not count so. */
    static inline uint64_t state_of(PyObject *dict) {
    #if PY_VERSION_HEX < 0x030D0000 && !defined(PYPY_VERSION)
        PyDictObject *d = (PyDictObject *)dict;
        return d->ma_values == NULL ? d->ma_version_tag : 0;  /* not where an instance's attributes are */
    #else
        return 0;
    #endif
    }
    FOR_TWO_PROCESSORS static void add_multiples(
        double *CYTHON_RESTRICT sums, const double *CYTHON_RESTRICT row, double factor, Py_ssize_t n
    ) {
        for (Py_ssize_t k = 0; k < n; k++) sums[k] += row[k] * factor;
    }
    /* Eight sums at once, in registers: the compiler would unroll this loop and compute several j at once instead.
       After n cells of a row there are zeros up to a multiple of eight. */
    FOR_TWO_PROCESSORS static void multiply_symmetric(
        const double *CYTHON_RESTRICT matrix, Py_ssize_t width, Py_ssize_t n, const double *CYTHON_RESTRICT vector,
        double *CYTHON_RESTRICT product
    ) {
        for (Py_ssize_t i = 0; i < n; i += 8) {
            double sums[8] = {0.0};
            for (Py_ssize_t j = 0; j < n; j++)
    #pragma GCC unroll 1
                for (int k = 0; k < 8; k++) sums[k] += matrix[j * width + i + k] * vector[j];
            for (int k = 0; k < 8; k++) product[i + k] = sums[k];
        }
    }
    FOR_TWO_PROCESSORS static void subtract_square(
        double *CYTHON_RESTRICT matrix, Py_ssize_t width, Py_ssize_t n, const double *CYTHON_RESTRICT vector,
        double keep, double most, double *CYTHON_RESTRICT factors
    ) {
        const Py_ssize_t end = (n + 3) & ~(Py_ssize_t)3;
        int excess = 0;
        for (Py_ssize_t i = 0; i < n; i++) {
            const double own = (matrix[i * width + i] - vector[i] * vector[i]) * keep;
            factors[i] = own > most ? sqrt(most / own) : 1.0;
            excess |= own > most;
        }
        for (Py_ssize_t i = 0; i < n; i++) {
            double *CYTHON_RESTRICT row = matrix + i * width;
            for (Py_ssize_t j = 0; j < end; j++) row[j] = (row[j] - vector[i] * vector[j]) * keep;
            if (excess)
                for (Py_ssize_t j = 0; j < end; j++) row[j] *= factors[i] * factors[j];
        }
    }
    /* The first 32 events' squared distances to values, column by column; whether one is below the limit. It stops
       early when none can be. A category's start is complemented. */
    #if defined(__GNUC__)
    typedef float eight_floats __attribute__((vector_size(32), aligned(4)));
    typedef int eight_masks __attribute__((vector_size(32)));
    #define add_square(k) difference = rows[k] - value; sums##k += difference * difference
    #define add_unequal(k) sums##k += (eight_floats)((rows[k] != value) & (eight_masks)two)
    FOR_TWO_PROCESSORS static int distances_of_32(
        float *CYTHON_RESTRICT sums, const float *CYTHON_RESTRICT numbers, const int *starts, const float *values,
        Py_ssize_t n, float limit
    ) {
        const eight_floats zero = {0}, two = zero + 2.0f, limits = zero + limit;
        eight_floats sums0 = zero, sums1 = zero, sums2 = zero, sums3 = zero, difference, value;
        int is_near = 1;
        for (Py_ssize_t i = 0, end = 0; i < n && is_near;) {
            for (end = i + 8 < n ? i + 8 : n; i < end; i++) {
                const eight_floats *rows = (const eight_floats *)(numbers + (starts[i] < 0 ? ~starts[i] : starts[i]));
                value = zero + values[i];
                if (starts[i] >= 0) {
                    add_square(0); add_square(1); add_square(2); add_square(3);
                } else {
                    add_unequal(0); add_unequal(1); add_unequal(2); add_unequal(3);
                }
            }
            union { eight_masks masks; long long parts[4]; } below;
            below.masks = (sums0 < limits) | (sums1 < limits) | (sums2 < limits) | (sums3 < limits);
            is_near = (below.parts[0] | below.parts[1] | below.parts[2] | below.parts[3]) != 0;
        }
        eight_floats *found = (eight_floats *)sums;
        found[0] = sums0, found[1] = sums1, found[2] = sums2, found[3] = sums3;
        return is_near;
    }
    #else
    static int distances_of_32(
        float *sums, const float *numbers, const int *starts, const float *values, Py_ssize_t n, float limit
    ) {
        for (int k = 0; k < 32; k++) sums[k] = 0.0f;
        for (Py_ssize_t i = 0; i < n; i++) {
            const float *row = numbers + (starts[i] < 0 ? ~starts[i] : starts[i]), value = values[i];
            if (starts[i] >= 0)
                for (int k = 0; k < 32; k++) sums[k] += (row[k] - value) * (row[k] - value);
            else
                for (int k = 0; k < 32; k++) sums[k] += row[k] != value ? 2.0f : 0.0f;
        }
        return 1;
    }
    #endif
    /* Sums are of gradients in the upper 28 bits, second derivatives in 22, and counts in 14. */
    FOR_TWO_PROCESSORS static void scores_of_splits(
        double *CYTHON_RESTRICT scores, const long long *CYTHON_RESTRICT lefts, Py_ssize_t n, long long total,
        double ridge
    ) {
        const double g = (double)(total >> 36), h = (double)(total >> 14 & 4194303) + 2.0 * ridge;
        for (Py_ssize_t k = 0; k < n; k++) {
            const int upper = (int)(lefts[k] >> 32), lower = (int)(lefts[k] >> 14) & 4194303;
            const double g_left = (double)(upper >> 4), h_left = (double)lower + ridge;
            const double g_right = g - g_left, h_right = h - h_left;
            scores[k] = (g_left * g_left * h_right + g_right * g_right * h_left) / (h_left * h_right);
        }
    }
    /* Several bytes at once: no branch depends on them. */
    static inline void copy_lowered(
        const unsigned char *CYTHON_RESTRICT from, char *CYTHON_RESTRICT to, Py_ssize_t n, char distance
    ) {
        for (Py_ssize_t k = 0; k < n; k++) to[k] = (char)(from[k] + distance * (from[k] >= 'A' && from[k] <= 'Z'));
    }
    """
    void prefetch_cell(const double* cell) noexcept
    void prefetch_number(const int* number) noexcept
    uint64_t state_of(object dictionary) noexcept
    bint PyUnicode_IS_ASCII(object text) noexcept
    const unsigned char* PyUnicode_1BYTE_DATA(object text) noexcept
    void add_multiples(double* sums, const double* row, double factor, Py_ssize_t n) noexcept
    void multiply_symmetric(
        const double* matrix, Py_ssize_t width, Py_ssize_t n, const double* vector, double* product
    ) noexcept
    void subtract_square(
        double* matrix, Py_ssize_t width, Py_ssize_t n, const double* vector, double keep, double most, double* factors
    ) noexcept
    void scores_of_splits(double* scores, const long long* lefts, Py_ssize_t n, long long total, double ridge) noexcept
    bint distances_of_32(
        float* sums, const float* numbers, const int* starts, const float* values, Py_ssize_t n, float limit
    ) noexcept
    void copy_lowered(const unsigned char* source, char* target, Py_ssize_t n, char distance) noexcept


cdef inline void prefetch(double[:] cells, const int[::1] slots, Py_ssize_t start, Py_ssize_t end) noexcept:
    cdef Py_ssize_t at
    for at in range(start, end):
        prefetch_cell(&cells[slots[at]])


cdef inline void prefetch_integer(const int[::1] numbers, Py_ssize_t index) noexcept:
    prefetch_number(&numbers[index])


cdef inline bint copy_ascii(text, bytearray room, bint lowercase) except -1:
    if not PyUnicode_IS_ASCII(text):
        return False
    if len(room) < len(text):
        raise IndexError("the text is longer than its room")
    copy_lowered(PyUnicode_1BYTE_DATA(text), room, len(text), 32 if lowercase else 0)
    return True


cdef inline void* allocate(Py_ssize_t n_bytes) except? NULL:
    cdef void* made = PyMem_Malloc(n_bytes) if n_bytes else NULL
    if n_bytes and made == NULL:
        raise MemoryError
    return made


cdef inline double* new_doubles(Py_ssize_t n) except? NULL:
    return <double*>allocate(n * sizeof(double))


cdef inline int* new_integers(Py_ssize_t n) except? NULL:
    return <int*>allocate(n * sizeof(int))


cdef inline void free(void* numbers) noexcept:
    PyMem_Free(numbers)


cdef inline double* first_double(const double[:] numbers) noexcept:
    return <double*>&numbers[0]


cdef inline int* first_integer(const int[::1] numbers) noexcept:
    return <int*>&numbers[0]


cdef inline void add_row(
    double[::1] sums, const double[::1] rows, Py_ssize_t start, double factor, Py_ssize_t n
) noexcept:
    add_multiples(&sums[0], &rows[start], factor, n)


cdef inline void multiply(
    const double[::1] matrix, Py_ssize_t width, Py_ssize_t n, const double[::1] vector, double[::1] product
) noexcept:
    multiply_symmetric(&matrix[0], width, n, &vector[0], &product[0])


cdef inline void shrink(
    double[::1] matrix, Py_ssize_t width, Py_ssize_t n, double[::1] vector, double keep, double most
) noexcept:
    subtract_square(&matrix[0], width, n, &vector[0], keep, most, &vector[width])


cdef inline bint measure_32(
    float[::1] sums, const float[::1] rows, Py_ssize_t first, const int[::1] starts, const float[::1] event, float limit
) noexcept:
    return distances_of_32(&sums[0], &rows[first], &starts[0], &event[0], starts.shape[0], limit)


cdef inline void score_splits(
    double[::1] scores, const long long[::1] lefts, Py_ssize_t n, long long total, double ridge
) noexcept:
    scores_of_splits(&scores[0], &lefts[0], n, total, ridge)


cdef inline void copy_doubles(double* target, const double* source, Py_ssize_t n) noexcept:
    if n:
        memcpy(target, source, n * sizeof(double))


cdef inline void copy_integers(int* target, const int* source, Py_ssize_t n) noexcept:
    if n:
        memcpy(target, source, n * sizeof(int))
