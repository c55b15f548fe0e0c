# The C types of confidence_weighted.py, for compiled code.
cimport cython

from perceptron_core.base.linear_rule cimport LinearRule
from perceptron_core.weights.example cimport Column, Example
from perceptron_core.weights.variances cimport Variances, shrunk


cdef class ConfidenceWeightedRule(LinearRule):
    cdef public double forgetting
    cdef public double intercept_forgetting
    cdef public bint full
    cdef public Variances variance_column
    cdef public double bias_variance
    cdef public dict covariance

    cdef double variance(self, Example x) except? -1

    @cython.locals(of_bias=double)
    cdef double variance_now(self, Example x) except? -1

    cdef double bias_variance_now(self) noexcept

    cdef update(self, Example x, double step, double rho, double v)

    cdef void update_bias(self, double step, double rho, double v) noexcept

    @cython.locals(bias=double, covariance=dict)
    cdef update_full(self, Example x, double step, double rho, double v)

    cdef double full_variance(self, Example x) except? -1

    cdef dict with_constant(self, Example x)
