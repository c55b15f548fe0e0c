# The C types of perceptron.py, for compiled code.
cimport cython

from perceptron_core.weights.example cimport Example
from perceptron_core.base.multiclass_rule cimport AdditiveMulticlassRule

cdef int NO_CLASS


cdef class MulticlassPerceptronRule(AdditiveMulticlassRule):
    @cython.locals(guess=int)
    cdef learn(self, Example x, int number, double w)
