# The C types of named_values.py, for compiled code.
cimport cython

from perceptron_core cimport c_memory as memory
from perceptron_core.weights.example cimport Example
from perceptron_core.weights.feature_array cimport FeatureArray

cdef double MAX_MAGNITUDE


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
