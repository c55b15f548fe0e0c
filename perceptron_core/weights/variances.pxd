# The C types of variances.py, for compiled code.
cimport cython

from perceptron_core.weights.example cimport Column, Example


cpdef double shrunk(double own, double r, double total) noexcept


cdef class Variances(Column):
    @cython.locals(k=Py_ssize_t, slot=int, value=double, own=double, total=double)
    cdef double of_score(self, Example x, double start) noexcept

    @cython.locals(k=Py_ssize_t, slot=int, value=double, own=double, total=double)
    cdef double of_widened_score(self, Example x, double start, double forgetting) noexcept

    @cython.locals(k=Py_ssize_t, slot=int)
    cdef void move(self, Column weights, Example x, double step) noexcept

    @cython.locals(k=Py_ssize_t, slot=int, value=double, old=double)
    cdef void shrink(self, Example x, double r, double total) noexcept

    @cython.locals(k=Py_ssize_t, slot=int)
    cdef void widen(self, Example x, double forgetting) noexcept
