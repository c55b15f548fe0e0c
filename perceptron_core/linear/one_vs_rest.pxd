# What compiled code knows of one_vs_rest.pyx.
from perceptron_core.weights.example cimport Example


cdef class OneVsRest:
    cdef readonly list rules
    cdef double[::1] scores
    cdef int _kind
    cdef Py_ssize_t _n
    cdef readonly Py_ssize_t n_lanes
    cdef double[::1] _block
    cdef Py_ssize_t _first
    cdef Py_ssize_t _width
    cdef double[::1] _sums
    cdef double[::1] _steps
    cdef double[::1] _rests
    cdef double[::1] _ratios
    cdef double[::1] _ratios_by_class
    cdef unsigned char[::1] _is_common
    cdef int[::1] _uncommon
    cdef Py_ssize_t _n_uncommon
    cdef int[::1] _active
    cdef double[::1] _largest
    cdef unsigned char[::1] _scales

    cdef settle(self, double[::1] block, Py_ssize_t first, Py_ssize_t width)
    cdef void look(self) noexcept
    cdef score(self, Example x)
    cdef learn(self, Example x, Py_ssize_t number, double w)
    cdef int _reserve(self, Py_ssize_t n) except -1
    cdef void _divide(self, Example x) noexcept
    cdef void _compare(self, Py_ssize_t slot) noexcept
    cdef void _raise(self, Example x, Py_ssize_t n_active) noexcept
    cdef void _measure(self, Example x) noexcept
    cdef void _learn_adagrad(self, Example x, Py_ssize_t number, double w) noexcept
    cdef void _descend(self, Example x, Py_ssize_t c, double rate) noexcept
    cdef void _learn_bayesian(self, Example x, Py_ssize_t number, double w) noexcept
    cdef void _learn_logistic(self, Example x, Py_ssize_t number, double w) noexcept
