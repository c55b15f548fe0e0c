# The C types of perceptron.py, for compiled code.
cimport cython

from perceptron_core.validation cimport rate_at
from perceptron_core.linear.linear_rule cimport LinearRule
from perceptron_core.linear.multiclass_rule cimport AdditiveMulticlassRule
from perceptron_core.weights.example cimport Example

cdef int NO_CLASS


cdef class PerceptronRule(LinearRule):
    cdef public double threshold
    cdef public bint tie
    cdef public bint update_on_tie
    cdef public object learning_rate

    cdef bint predicts_true(self, double score) noexcept

    @cython.locals(mistaken=bint, step=double)
    cdef double learn_at(self, Example x, int sign, double w, double a) except? -1

    cdef bint updates_when_right(self, double signed_distance) noexcept


cdef class MarginRule(PerceptronRule):
    cdef public double margin

    cdef bint updates_when_right(self, double signed_distance) noexcept


cdef class MulticlassPerceptronRule(AdditiveMulticlassRule):
    @cython.locals(guess=int)
    cdef learn(self, Example x, int number, double w)
