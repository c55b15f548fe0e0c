# What compiled code knows of mixers.pyx.


cdef class Mixers:
    cdef list _mixers
    cdef readonly double[::1] answers
    cdef Py_ssize_t _n
    cdef Py_ssize_t _n_groups
    cdef Py_ssize_t _n_inputs
    cdef double _variance
    cdef double _forgetting
    cdef double[::1] _weights
    cdef double[::1] _covariance
    cdef double[::1] _gain
    cdef double[::1] _shrinkage
    cdef double[::1] _steps
    cdef double[::1] _keeps

    cdef void _take(self) noexcept
    cpdef void give(self) noexcept
    cpdef void mix(self, const double[::1] inputs, Py_ssize_t width, Py_ssize_t first) noexcept
    cpdef void learn(
        self, const double[::1] inputs, Py_ssize_t width, Py_ssize_t first, Py_ssize_t number, double w,
        const double[::1] information
    ) noexcept
