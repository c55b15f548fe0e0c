# The C types of bayesian_logistic.py, for compiled code.
cimport cython

from perceptron_core.linear.arow cimport ConfidenceWeightedRule
from perceptron_core.elementary cimport logistic
from perceptron_core.weights.example cimport Example

cdef extern from "math.h":
    cpdef double sqrt(double x)

cdef double _MAX_RHO
cdef double _MODERATION


cdef class BayesianLogisticRule(ConfidenceWeightedRule):
    cdef Example _scored
    cdef double _variance
    cdef double rho

    cdef double score(self, Example x) except? -1

    cdef double moderation(self, Example x) except? -1

    @cython.locals(v=double, step=double)
    cdef double learn_at(self, Example x, int sign, double w, double a) except? -1

    @cython.locals(loss=double, q=double)
    cdef double step_at(self, int sign, double w, double a, double v) noexcept


cdef double moderation_at(double v) noexcept
