# The C types of arow.py, for compiled code.
from perceptron_core.binary.confidence_weighted cimport ConfidenceWeightedRule
from perceptron_core.weights.example cimport Entries
from perceptron_core.validation cimport hinge

cdef double _LARGEST


cdef class AROWRule(ConfidenceWeightedRule):
    cdef public double r

    cdef bint is_due(self, double signed_score, Entries x) except -1
    cdef double alpha(self, double signed_score, double variance, double w) except -1
    cdef double rho(self, double alpha, double variance, double w) except -1
