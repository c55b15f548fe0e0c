# The C types of confidence_weighted.py, for compiled code.
cimport cython

from perceptron_core.weights.example cimport Column, Entries
from perceptron_core.base.binary_rule cimport LinearRule
from perceptron_core.weights.variances cimport Variances


cdef class ConfidenceWeightedRule(LinearRule):
    cdef public double forgetting
    cdef public double intercept_forgetting
    cdef public bint full
    cdef public Variances variance_column
    cdef public double bias_variance
    cdef public dict covariance

    cdef bint is_due(self, double signed_score, Entries x) except -1
    cdef double alpha(self, double signed_score, double variance, double w) except -1
    cdef double rho(self, double alpha, double variance, double w) except -1

    @cython.locals(alpha=double)
    cdef double learn_at(self, Entries x, int sign, double w, double a) except? -1

    cdef double variance(self, Entries x) except -1

    @cython.locals(v=double, alpha=double, rho=double)
    cdef double learn_diagonal(self, Entries x, double a, int sign, double w) except -1

    @cython.locals(v=double, alpha=double, bias=double, covariance=dict)
    cdef double learn_full(self, Entries x, double a, int sign, double w) except -1

    cdef dict with_constant(self, Entries x)
