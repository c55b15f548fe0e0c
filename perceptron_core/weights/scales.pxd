# The C types of scales.py, for compiled code.
cimport cython

from perceptron_core.weights.changes cimport Changes
from perceptron_core.weights.example cimport Column, Example
from perceptron_core.weights.touches cimport Touches


cdef class Scales(Column):
    @cython.locals(k=Py_ssize_t, slot=int, value=double, total=double)
    cdef double dot_scaled(self, Column weights, Example x, double start) noexcept

    @cython.locals(k=Py_ssize_t, slot=int, value=double)
    cdef void divide(self, Example x, Column ratios) noexcept

    @cython.locals(k=Py_ssize_t, slot=int)
    cdef note_raised(self, Example x, Touches touches, Changes changes)

    @cython.locals(k=Py_ssize_t, slot=int, value=double, size=double, scale=double, ratio=double, total=double)
    cdef double observe(self, Example x, Column ratios, bint is_new) noexcept
