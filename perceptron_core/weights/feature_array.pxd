# What compiled code knows of feature_array.pyx.

cdef class FeatureArray:
    cdef Py_ssize_t n

    cpdef dict as_dict(self)
