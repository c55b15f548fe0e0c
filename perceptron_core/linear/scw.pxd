# The C types of scw.py, for compiled code.
cimport cython
from perceptron_core.linear.arow cimport ConfidenceWeightedRule
from perceptron_core.elementary cimport hypot
from perceptron_core.weights.example cimport Example

cdef extern from "math.h":
    cpdef double sqrt(double x)

cdef double MAX_LOSS
cdef double _MAX_RHO


cdef class SCWRule(ConfidenceWeightedRule):
    cdef public double C
    cdef public double confidence
    cdef public double phi

    @cython.locals(alpha=double, v=double)
    cdef double learn_at(self, Example x, int sign, double w, double a) except? -1

    @cython.locals(phi=double, m=double, psi=double, zeta=double, reach=double, alpha=double)
    cdef double alpha(self, double signed_score, double variance, double w) except? -1

    @cython.locals(pull=double, root_u=double)
    cdef double rho(self, double alpha, double variance) except? -1
