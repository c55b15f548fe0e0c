# The C types of vote.py, for compiled code.
from perceptron_core.base.linear_rule cimport LinearRule
from perceptron_core.weights.example cimport Example


cdef class ClassVote(LinearRule):
    cdef readonly Py_ssize_t number

    cdef double score(self, Example x) except? -1
    cdef double learn_at(self, Example x, int sign, double w, double a) except? -1
