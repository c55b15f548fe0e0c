# The C types of token_map.py, for compiled code.
cimport cython

from perceptron_core cimport c_memory as memory
from perceptron_core.weights.example cimport Example

cdef extern from "math.h":
    cpdef double sqrt(double x)


cdef class TokenMap:
    cdef readonly int bits
    cdef readonly Example x
    cdef readonly Py_ssize_t n_slots
    cdef int[::1] _rows, _indices, _index_of
    cdef unsigned char[::1] _marks
    cdef Py_ssize_t _n_marked
    cdef int _mask

    @cython.locals(k=Py_ssize_t)
    cdef clear(self)

    @cython.locals(masked=int, slot=int, n=Py_ssize_t)
    cdef add(self, int index, double value)

    @cython.locals(k=Py_ssize_t)
    cdef void prefetch(self, int[::1] indices, Py_ssize_t n, int tag) noexcept

    @cython.locals(
        k=Py_ssize_t, at=Py_ssize_t, n_missing=Py_ssize_t, mask=int, is_first=bint, masked=int, slot=int,
        rows=int[::1], slots=int[::1], entries=int[::1], marks="unsigned char[::1]"
    )
    cdef add_all(self, int[::1] indices, Py_ssize_t n, int tag)

    @cython.locals(k=Py_ssize_t)
    cdef void _mark(self) noexcept

    cdef _reserve(self, Py_ssize_t n)

    @cython.locals(k=Py_ssize_t, value=double)
    cdef void scale(self, Py_ssize_t first) noexcept

    @cython.locals(k=Py_ssize_t)
    cdef assign_slots(self)

    cdef _append_slot(self, Py_ssize_t index)
