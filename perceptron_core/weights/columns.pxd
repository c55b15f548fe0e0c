# The C types of columns.py, for compiled code.
cimport cython

from perceptron_core cimport c_memory as memory
from perceptron_core.weights.example cimport Column, Example
from perceptron_core.weights.tables cimport Changes


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

    @cython.locals(k=Py_ssize_t, slot=int)
    cdef note_raised(self, Example x, Changes changes)

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
