# The C types of passive_aggressive.py, for compiled code.
cimport cython
from perceptron_core.base.binary_rule cimport AdditiveRule
from perceptron_core.weights.example cimport Entries
from perceptron_core.validation cimport hinge

cdef double _SMALLEST


cdef class PassiveAggressiveRule(AdditiveRule):
    cdef public double C
    cdef public str variant

    @cython.locals(step=double)
    cdef double learn_at(self, Entries x, int sign, double w, double a) except? -1

    @cython.locals(tau=double)
    cdef double tau(self, double loss, double squared_norm, double price)
