# The C types of linear_rule.py, for compiled code.
cimport cython

from perceptron_core.validation cimport example_weight, sign_of
from perceptron_core.weights.example cimport Column, Example
from perceptron_core.weights.tables cimport WeightTable


cdef class LinearRule:
    cdef public WeightTable table
    cdef public Column weight_column
    cdef public double bias
    cdef public bint fit_intercept
    cdef public long long n_mistakes
    cdef public long long n_updates

    cdef Example resolve(self, x)
    cdef double score(self, Example x) except? -1
    cdef bint predicts_true(self, double score) noexcept
    cdef double learn(self, Example x, int sign, double w) except? -1
    cdef double learn_at(self, Example x, int sign, double w, double a) except? -1
    cdef add(self, Example x, double step)


@cython.locals(example=Example)
cpdef undo_additive(LinearRule self, x, double step)


cdef class ClassVote(LinearRule):
    cdef readonly Py_ssize_t number

    cdef double score(self, Example x) except? -1
    cdef double learn_at(self, Example x, int sign, double w, double a) except? -1
