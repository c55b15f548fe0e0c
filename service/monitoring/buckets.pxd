# The C types of buckets.py, for compiled code.
cimport cython


cdef class Buckets:
    cdef double[::1] _bounds
    cdef long long[::1] _counts
    cdef double _sum

    cpdef observe(self, double value, long long times=*)

    @cython.locals(k=Py_ssize_t)
    cpdef observe_all(self, const double[::1] values)

    @cython.locals(low=Py_ssize_t, high=Py_ssize_t, middle=Py_ssize_t)
    cdef Py_ssize_t _place(self, double value) noexcept
