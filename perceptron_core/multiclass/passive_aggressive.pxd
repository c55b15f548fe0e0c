# The C types of passive_aggressive.py, for compiled code.
cimport cython

from perceptron_core.weights.example cimport Entries
from perceptron_core.base.multiclass_rule cimport AdditiveMulticlassRule
from perceptron_core.validation cimport hinge

cdef double _SMALLEST


cdef class MulticlassPassiveAggressiveRule(AdditiveMulticlassRule):
    cdef public double C
    cdef public str variant

    @cython.locals(rival=int, loss=double, tau=double)
    cdef learn(self, Entries x, int number, double w)

    @cython.locals(tau=double)
    cdef double tau(self, double loss, double squared_length, double price)
