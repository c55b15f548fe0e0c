# The C types of full_covariance.py, for compiled code.
cimport cython

from perceptron_core.linear.linear_rule cimport LinearRule
from perceptron_core.mixing.mixer cimport Mixer
from perceptron_core.weights.example cimport Example

cdef Py_ssize_t _MAX_WEIGHTS


cdef class FullCovarianceLogistic(LinearRule):
    cdef Mixer _mixer
    cdef double[::1] _inputs

    @cython.locals(k=Py_ssize_t)
    cdef double score(self, Example x) except? -1

    @cython.locals(k=Py_ssize_t)
    cdef double learn_at(self, Example x, int sign, double w, double a) except? -1
