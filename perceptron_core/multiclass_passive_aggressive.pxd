# The C types of multiclass_passive_aggressive.py, for compiled code.
cimport cython

from perceptron_core.entries cimport Entries
from perceptron_core.multiclass_rules cimport AdditiveMulticlassRule
from perceptron_core.values cimport hinge

cdef double _SMALLEST


cdef class MulticlassPassiveAggressiveRule(AdditiveMulticlassRule):
    cdef public double C
    cdef public str variant

    @cython.locals(rival=int, loss=double, tau=double)
    cdef learn(self, Entries x, int number, double w)

    @cython.locals(tau=double)
    cdef double tau(self, double loss, double squared_length, double price)
