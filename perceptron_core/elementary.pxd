# The C types of elementary.py, for compiled code, and what memory.py is to interpreted code.
cimport cython

cdef extern from "math.h":
    cpdef double sqrt(double x)

cdef extern from *:
    """
    #include <stdint.h>
    #include <string.h>
    static inline double power_of_two(int power) {
        uint64_t bits = (uint64_t)(power + 1023) << 52;
        double x;
        memcpy(&x, &bits, sizeof(x));
        return x;
    }
    /* Where 2^power is not a normal double in two halves, of which only the second may round. */
    static inline double scaled(double x, int power) {
        int half = power >> 1;
        if (power >= -1022 && power <= 1023) return x * power_of_two(power);
        return x * power_of_two(half) * power_of_two(power - half);
    }
    static inline int exponent(double x) {
        uint64_t bits;
        memcpy(&bits, &x, sizeof(bits));
        return (int)(bits >> 52 & 2047) - 1022;
    }
    """
    cpdef double scaled(double x, int power) noexcept
    cpdef int exponent(double x) noexcept

cdef double[::1] _HEADS
cdef double[::1] _MISSING


@cython.locals(n=double, r=double, whole=int, j=int, square=double, p=double, power=int, head=double)
cpdef double exp(double x) noexcept


cpdef double log(double x) noexcept


@cython.locals(head=double, missing=double)
cpdef double log1p(double x) noexcept


@cython.locals(size=double, value=double)
cpdef double asinh(double x) noexcept


@cython.locals(a=double, b=double)
cpdef double hypot(double x, double y) noexcept


@cython.locals(turns=double, z=double, p=double)
cpdef double cosine(double x) noexcept


@cython.locals(k=Py_ssize_t)
cpdef void write_cosines(double[::1] sums, double[::1] values, Py_ssize_t n, double factor) noexcept


@cython.locals(
    k=int, f=double, n=double, half=double, s=double, z=double, square=double, p=double, q=double, rest=double
)
cdef double _log_of(double x, double more, int power) noexcept


@cython.locals(power=double)
cpdef double logistic(double z) noexcept
