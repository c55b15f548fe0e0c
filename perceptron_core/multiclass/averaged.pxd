# The C types of averaged.py, for compiled code.
cimport cython

from perceptron_core.weights.example cimport Column, Example
from perceptron_core.base.multiclass_rule cimport AdditiveMulticlassRule

cdef int NO_CLASS


cdef class AveragedMulticlassRule(AdditiveMulticlassRule):
    cdef public long long n_examples
    cdef public list late_columns
    cdef public Column late_biases

    cpdef clear(self)

    @cython.locals(number=Py_ssize_t)
    cpdef meet(self, label)

    cdef forget_last(self, label, Py_ssize_t n_known)

    @cython.locals(number=Py_ssize_t, column=Column, late=double)
    cdef score(self, Example x)

    cpdef double mean(self, double current, double late) except? -1

    @cython.locals(guess=int)
    cdef learn(self, Example x, int number, double w)

    cdef move(self, Example x, int gained, int lost, double size, long long n_before)

    @cython.locals(column=Column)
    cdef add_late(self, Example x, int number, double size)
