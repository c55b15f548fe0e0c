# The C types of example.py, for compiled code.
cimport cython
from libc.stdint cimport uint64_t

from perceptron_core cimport c_memory as memory


cdef class Example:
    cdef int[::1] slots
    cdef double[::1] values
    cdef public Py_ssize_t capacity
    cdef public Py_ssize_t first_slot
    cdef public Py_ssize_t first_value
    cdef public Py_ssize_t n
    cdef public Py_ssize_t n_missing
    cdef public list names
    cdef public Py_ssize_t version
    cdef public uint64_t state
    cdef public tuple shape

    @cython.locals(k=Py_ssize_t, total=double, value=double)
    cdef double squared_norm(self) noexcept

    cdef double_capacity(self)


cdef class Column:
    cdef double[:] cells
    cdef public double default
    cdef readonly double lowest
    cdef readonly double highest

    @cython.locals(k=Py_ssize_t)
    cpdef check(self, const double[:] cells)

    cdef grow(self, Py_ssize_t capacity)

    @cython.locals(slot=Py_ssize_t)
    cdef fill(self)

    @cython.locals(slot=Py_ssize_t)
    cdef fill_between(self, Py_ssize_t first, Py_ssize_t end)

    @cython.locals(k=Py_ssize_t, slot=int, total=double)
    cdef double dot(self, Example x, double start) noexcept

    @cython.locals(k=Py_ssize_t, slot=int, is_there=int, total=double)
    cdef double dot_with_gaps(self, Example x, double start) noexcept

    @cython.locals(k=Py_ssize_t, slot=int, cell=double, n_zeros=Py_ssize_t)
    cdef Py_ssize_t add(self, Example x, double step) noexcept

    @cython.locals(slot=Py_ssize_t)
    cdef scale(self, double factor)


cdef class Scales(Column):
    cdef double squares
    cdef Py_ssize_t n_larger
    cdef Py_ssize_t n_raised

    @cython.locals(
        k=Py_ssize_t, slot=int, total=double, squares=double, factors="double*", slots="int*"
    )
    cdef double dot_scaled(self, Column weights, Example x, double start, Column ratios) noexcept

    @cython.locals(
        k=Py_ssize_t, slot=int, n_larger=Py_ssize_t, n_raised=Py_ssize_t, size=double, scale=double,
        quotients="double*", slots="int*",
        values="double*"
    )
    cdef void divide(self, Example x, Column ratios) noexcept

    @cython.locals(k=Py_ssize_t, total=double, quotients="double*")
    cdef double observe(self, Example x, Column ratios, bint is_new) noexcept

    @cython.locals(
        k=Py_ssize_t, slot=int, size=double, quotients="double*", slots="int*", values="double*"
    )
    cdef void raise_to(self, Example x, Column ratios, bint is_new) noexcept


@cython.locals(k=Py_ssize_t)
cdef void _divide(const double* values, Py_ssize_t first, double* ratios, Py_ssize_t n) noexcept


cpdef double shrunk(double own, double r, double total) noexcept


cdef class Variances(Column):
    @cython.locals(k=Py_ssize_t, slot=int, value=double, own=double, total=double)
    cdef double of_score(self, Example x, double start) noexcept

    @cython.locals(k=Py_ssize_t, slot=int, value=double, own=double, total=double)
    cdef double of_inflated_score(self, Example x, double start, double forgetting) noexcept

    @cython.locals(k=Py_ssize_t, slot=int)
    cdef void move(self, Column weights, Example x, double step) noexcept

    @cython.locals(k=Py_ssize_t, slot=int, value=double, old=double)
    cdef void shrink(self, Example x, double r, double total) noexcept

    @cython.locals(k=Py_ssize_t, slot=int)
    cdef void inflate(self, Example x, double forgetting) noexcept
