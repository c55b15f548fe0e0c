# The C types of mixer.py, for compiled code.
cimport cython

from perceptron_core.elementary cimport log
from perceptron_core.elementary cimport logistic

cdef double _MIN_SHARE, _MAX_WEIGHT, MAX_LEARNED


cdef class LabelHistory:
    cdef double[::1] _rates, _shares
    cdef long long _n_of_class, _n_labels

    @cython.locals(k=Py_ssize_t, rate=double)
    cpdef count(self, bint is_class)

    @cython.locals(share=double)
    cpdef double information(self) except? -1

    @cython.locals(k=Py_ssize_t, share=double)
    cpdef write_log_odds(self, double[::1] inputs)


cdef extern from "math.h":
    cpdef double sqrt(double x)


cdef class Mixer:
    cdef public double variance, forgetting
    cdef readonly Py_ssize_t n
    cdef Py_ssize_t _capacity
    cdef double[::1] _weights, _covariance, _gain

    @cython.locals(last=Py_ssize_t)
    cpdef add_input(self, double weight)

    @cython.locals(k=Py_ssize_t, total=double)
    cpdef double mix(self, double[::1] inputs) except? -1

    @cython.locals(k=Py_ssize_t, p=double, q=double, spread=double, f=double, step=double)
    cpdef learn(self, double[::1] inputs, bint target, double w, double log_odds, double information=*)

    @cython.locals(
        i=Py_ssize_t, j=Py_ssize_t, n=Py_ssize_t, row=Py_ssize_t, z=double, spread=double, covariance=double[::1],
        gain=double[::1]
    )
    cdef double _compute_gain(self, double[::1] inputs) noexcept

    @cython.locals(
        i=Py_ssize_t, j=Py_ssize_t, n=Py_ssize_t, row=Py_ssize_t, keep=double, root=double, own=double,
        covariance=double[::1], gain=double[::1]
    )
    cdef void _shrink_covariance(self, double shrinkage, double information) noexcept

    @cython.locals(i=Py_ssize_t, j=Py_ssize_t, row=Py_ssize_t, excess=bint, covariance=double[::1], factors=double[::1])
    cdef void _bound_variances(self) noexcept

    @cython.locals(i=Py_ssize_t, j=Py_ssize_t, covariance=double[::1])
    cdef reserve(self, Py_ssize_t n)
