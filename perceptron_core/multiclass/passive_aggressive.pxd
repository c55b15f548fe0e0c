# The C types of passive_aggressive.py, for compiled code.
cimport cython

from perceptron_core.weights.example cimport Example
from perceptron_core.base.multiclass_rule cimport AdditiveMulticlassRule
from perceptron_core.binary.passive_aggressive cimport step_size
from perceptron_core.validation cimport hinge


cdef class MulticlassPassiveAggressiveRule(AdditiveMulticlassRule):
    cdef public double C
    cdef public str variant

    @cython.locals(rival=int, loss=double, tau=double)
    cdef learn(self, Example x, int number, double w)
