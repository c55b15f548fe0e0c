# What compiled code knows of named_values.pyx.
from perceptron_core.weights.example cimport Example

# Values that lie in the object itself; more have memory of their own.
cdef enum: FEW = 16


cdef class NamedValues:
    cdef readonly tuple names
    cdef Py_ssize_t n
    cdef double* numbers
    cdef double _few[FEW]

    cpdef dict as_dict(self)
    cdef int fill(self, Example example) except -1
    cdef int _allocate(self, tuple names) except -1


cdef NamedValues named_values(tuple names, const double* numbers)
