# The C types of variances.py, for compiled code.
cimport cython

from perceptron_core.weights.example cimport Column, Entries


cdef class Variances(Column):
    @cython.locals(k=Py_ssize_t, slot=int, value=double, own=double, total=double)
    cdef double of_score(self, Entries x, double start) noexcept

    @cython.locals(k=Py_ssize_t, slot=int)
    cdef void move(self, Column weights, Entries x, double step) noexcept

    @cython.locals(k=Py_ssize_t, slot=int, value=double, old=double)
    cdef void shrink(self, Entries x, double r, double total) noexcept

    @cython.locals(k=Py_ssize_t, slot=int)
    cdef void widen(self, Entries x, double forgetting) noexcept
