# What compiled code knows of named_values.pyx.
from perceptron_core.weights.example cimport Example
from perceptron_core.weights.feature_array cimport FeatureArray

# Values that lie in the object itself; more have memory of their own.
cdef enum: FEW = 16


cdef class NamedValues(FeatureArray):
    cdef readonly tuple names
    cdef double* numbers
    cdef double _few[FEW]

    cdef int fill(self, Example example) except -1
    cdef int _allocate(self, tuple names) except -1


cdef NamedValues named_values(tuple names, const double* numbers)
