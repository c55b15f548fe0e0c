# The C types of arow.py, for compiled code.
cimport cython

from perceptron_core.binary.confidence_weighted cimport ConfidenceWeightedRule
from perceptron_core.validation cimport hinge
from perceptron_core.weights.example cimport Example

cdef double _LARGEST


cdef class AROWRule(ConfidenceWeightedRule):
    cdef public double r

    @cython.locals(alpha=double, v=double, r=double)
    cdef double learn_at(self, Example x, int sign, double w, double a) except? -1
