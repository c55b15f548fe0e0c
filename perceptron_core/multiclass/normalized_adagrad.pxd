# The C types of normalized_adagrad.py, for compiled code.
cimport cython

from perceptron_core.base.multiclass_rule cimport MulticlassRule
from perceptron_core.binary.normalized_adagrad cimport adapted
from perceptron_core.elementary cimport exp
from perceptron_core.weights.example cimport Column, Example
from perceptron_core.weights.scales cimport Scales

cdef extern from "math.h":
    cpdef double sqrt(double x)


cdef class MulticlassNormalizedAdaGradRule(MulticlassRule):
    cdef public double learning_rate
    cdef public double epsilon
    cdef public double margin
    cdef public Scales scale_column
    cdef public list square_columns
    cdef public Column bias_squares
    cdef public Column slopes
    cdef public Column ratios
    cdef public double squared_sum
    cdef public long long n_examples

    cpdef clear(self)

    @cython.locals(number=Py_ssize_t)
    cpdef meet(self, label)

    cdef forget_last(self, label, Py_ssize_t n_known)

    @cython.locals(number=Py_ssize_t, weights=Column, total=double, k=Py_ssize_t, slot=int)
    cdef score(self, Example x)

    @cython.locals(rival=int, loss=double, rate=double, each=int)
    cdef learn(self, Example x, int number, double w)

    cdef bint is_due(self, int number, int rival) noexcept

    @cython.locals(highest=double, total=double, others=double, each=Py_ssize_t, power=double, loss=double)
    cdef double differentiate(self, int number, double w) except? -1

    @cython.locals(
        weights=Column, squares=Column, slope=double, k=Py_ssize_t, slot=int, gradient=double, square=double
    )
    cdef descend(self, int number, Example x, double rate)
