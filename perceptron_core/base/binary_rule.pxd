# The C types of binary_rule.py, for compiled code.
cimport cython
from perceptron_core.weights.example cimport Column, Entries
from perceptron_core.weights.weight_table cimport Slots
from perceptron_core.validation cimport example_weight, sign_of


cdef class BinaryRule:
    cdef public Slots slots
    cdef public long long n_mistakes
    cdef public long long n_updates

    cdef Entries resolve(self, x)
    cdef double score(self, Entries x) except? -1
    cdef bint fires(self, double score) noexcept
    cdef double learn(self, Entries x, int sign, double w) except? -1
    cdef double learn_at(self, Entries x, int sign, double w, double a) except? -1


cdef class LinearRule(BinaryRule):
    cdef public bint fit_intercept
    cdef public double bias
    cdef public Column weight_column


cdef class AdditiveRule(LinearRule):
    cdef add(self, Entries x, double step)
