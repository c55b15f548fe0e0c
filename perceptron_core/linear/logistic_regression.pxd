# The C types of logistic_regression.py, for compiled code.
cimport cython

from perceptron_core.linear.linear_rule cimport LinearRule
from perceptron_core.elementary cimport logistic
from perceptron_core.weights.example cimport Example


cdef class LogisticRegressionRule(LinearRule):
    cdef public double learning_rate

    @cython.locals(step=double)
    cdef double learn_at(self, Example x, int sign, double w, double a) except? -1

    cdef double step_at(self, int sign, double w, double a) noexcept
