# The C types of hashed_index.py, for compiled code.
cimport cython

from perceptron_core.validation cimport as_double
from perceptron_core.weights.example cimport Example
from perceptron_core.weights.index cimport Index
from perceptron_core.weights.indexed_values cimport IndexedValues


cdef double MAX_MAGNITUDE


cdef class HashedIndex(Index):
    @cython.locals(slot="long long")
    cpdef int find(self, name) except -2

    cdef int resolve(self, x, Example example) except -1

    cdef bint _fill(self, IndexedValues x, Example example) except -1

    @cython.locals(n=Py_ssize_t, number=double)
    cdef int _resolve(self, x, Example example) except -1

    cpdef cells(self, double default)

    cpdef dict by_name(self, Example x)
