# The C types of perceptron.py, for compiled code.
cimport cython
from perceptron_core.base.binary_rule cimport AdditiveRule
from perceptron_core.weights.example cimport Entries
from perceptron_core.learning_rates cimport rate_at


cdef class PerceptronRule(AdditiveRule):
    cdef public double threshold
    cdef public bint tie
    cdef public bint update_on_tie
    cdef public object learning_rate

    cdef bint fires(self, double score) noexcept

    @cython.locals(mistaken=bint, step=double)
    cdef double learn_at(self, Entries x, int sign, double w, double a) except? -1

    cdef bint updates_when_right(self, double signed_distance) noexcept
