# What compiled code knows of one_vs_rest.pyx.
from perceptron_core.weights.example cimport Example


cdef class OneVsRest:
    cdef readonly list rules
    cdef int _kind
    cdef Py_ssize_t _n
    cdef readonly Py_ssize_t n_lanes
    cdef Py_ssize_t _first, _width
    cdef double[::1] scores, _block, _sums, _steps, _rests, _ratios, _shared, _common
    cdef int[::1] _active

    cdef settle(self, double[::1] block, Py_ssize_t first, Py_ssize_t width)
    cdef score(self, Example x)
    cdef learn(self, Example x, Py_ssize_t number, double w)
    cdef void _measure(self, Example x) noexcept
    cdef void _learn_adagrad(self, Example x, Py_ssize_t number, double w) noexcept
    cdef void _learn_bayesian(self, Example x, Py_ssize_t number, double w) noexcept
    cdef void _learn_logistic(self, Example x, Py_ssize_t number, double w) noexcept
