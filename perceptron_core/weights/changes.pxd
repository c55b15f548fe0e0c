# The C types of changes.py, for compiled code.
cimport cython

from perceptron_core.weights.example cimport Example


cdef class Changes:
    cdef unsigned char[::1] marks
    cdef Py_ssize_t capacity
    cdef readonly list dropped
    cdef readonly bint is_whole

    @cython.locals(marks="unsigned char[::1]")
    cdef grow(self, Py_ssize_t capacity)

    @cython.locals(k=Py_ssize_t, slot=int)
    cdef void note(self, Example x) noexcept

    cdef void mark(self, int slot) noexcept

    cdef drop(self, name)

    @cython.locals(marks=bytes, slot=Py_ssize_t)
    cpdef list slots(self)
