# The C types of passive_aggressive.py, for compiled code.
cimport cython

from perceptron_core.linear.linear_rule cimport LinearRule
from perceptron_core.linear.multiclass_rule cimport AdditiveMulticlassRule
from perceptron_core.validation cimport hinge
from perceptron_core.weights.example cimport Example

cdef double _MIN_DIVISOR


@cython.locals(tau=double)
cpdef double step_size(str variant, double loss, double squared_norm, double price) noexcept


cdef class PassiveAggressiveRule(LinearRule):
    cdef public double C
    cdef public str variant

    @cython.locals(step=double, squared_norm=double)
    cdef double learn_at(self, Example x, int sign, double w, double a) except? -1


cdef class MulticlassPassiveAggressiveRule(AdditiveMulticlassRule):
    cdef public double C
    cdef public str variant

    @cython.locals(best_other=int, loss=double, tau=double)
    cdef learn(self, Example x, int number, double w)
