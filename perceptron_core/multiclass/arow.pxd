# The C types of arow.py, for compiled code.
cimport cython

from perceptron_core.weights.example cimport Column, Example
from perceptron_core.base.multiclass_rule cimport MulticlassRule
from perceptron_core.validation cimport hinge
from perceptron_core.weights.variances cimport Variances, shrunk

cdef double _LARGEST


cdef class MulticlassAROWRule(MulticlassRule):
    cdef public double r
    cdef public list variance_columns
    cdef public Column bias_variances

    cpdef clear(self)

    @cython.locals(number=Py_ssize_t)
    cpdef meet(self, label)

    cdef forget_last(self, label, Py_ssize_t n_known)

    @cython.locals(rival=int, loss=double, total=double, r=double, alpha=double)
    cdef learn(self, Example x, int number, double w)

    @cython.locals(column=Variances)
    cdef double variance(self, int number, Example x) except? -1

    @cython.locals(weights=Column, variances=Variances, of_bias=double)
    cdef learn_class(self, int number, Example x, double alpha, double r, double total)
