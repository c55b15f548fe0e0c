# The C types of feature_array.py, for compiled code.

cdef class FeatureArray:
    cdef readonly Py_ssize_t n

    cpdef dict as_dict(self)
