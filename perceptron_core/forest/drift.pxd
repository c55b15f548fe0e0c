# The C types of drift.py, for compiled code.

cdef extern from "math.h":
    cpdef double sqrt(double x)

cdef int _YOUNG, _OLDEST
cdef double _SHORT, _LONG, _DEVIATIONS


cdef class Drift:
    cdef int[::1] ages
    cdef double[::1] lately
    cdef double[::1] errors

    cdef void restart(self, Py_ssize_t tree) noexcept

    cdef bint is_noticed(self, Py_ssize_t tree, bint is_wrong) noexcept
