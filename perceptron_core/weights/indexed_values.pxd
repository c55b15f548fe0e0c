# What compiled code knows of indexed_values.pyx.
from perceptron_core.weights.example cimport Example
from perceptron_core.weights.feature_array cimport FeatureArray


cdef class IndexedValues(FeatureArray):
    cdef double* numbers
    cdef int* indices  # in the same memory, behind the numbers

    cdef bint fill(self, Example example, Py_ssize_t n_slots) except -1
    cdef int _allocate(self, Py_ssize_t n) except -1


cpdef IndexedValues indexed_values(const int[::1] indices, const double[::1] values, Py_ssize_t count)
