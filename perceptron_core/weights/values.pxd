# The C types of values.py, for compiled code.
cimport cython

from perceptron_core cimport c_memory as memory
from perceptron_core.weights.example cimport Example
from perceptron_core.weights.feature_array cimport FeatureArray

cdef double MAX_MAGNITUDE


cdef class IndexedValues(FeatureArray):
    cdef double* numbers
    cdef int* indices

    @cython.locals(made=dict, k=Py_ssize_t)
    cpdef dict as_dict(self)

    @cython.locals(k=Py_ssize_t, are_valid=bint)
    cdef bint fill(self, Example example, Py_ssize_t n_slots) except -1

    cdef int _allocate(self, Py_ssize_t n) except -1


@cython.locals(made=IndexedValues)
cpdef IndexedValues indexed_values(const int[::1] indices, const double[::1] values, Py_ssize_t count)


cdef class NamedValues(FeatureArray):
    cdef readonly tuple names
    cdef double* numbers

    @cython.locals(made=dict, k=Py_ssize_t)
    cpdef dict as_dict(self)

    @cython.locals(k=Py_ssize_t, are_valid=bint)
    cdef int fill(self, Example example) except -1

    cdef int _allocate(self, tuple names) except -1


@cython.locals(made=NamedValues)
cdef NamedValues named_values(tuple names, const double* numbers)
