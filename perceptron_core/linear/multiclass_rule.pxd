# The C types of multiclass_rule.py, for compiled code.
cimport cython

from perceptron_core.weights.example cimport Column, Example
from perceptron_core.weights.tables cimport WeightTable
from perceptron_core.validation cimport example_weight

cdef int NO_CLASS


cdef class MulticlassRule:
    cdef public bint fit_intercept
    cdef public long long n_mistakes
    cdef public long long n_updates
    cdef public WeightTable table
    cdef public list labels
    cdef public dict numbers
    cdef public list weight_columns
    cdef public Column biases
    cdef public Column scores

    cpdef clear(self)

    @cython.locals(number=Py_ssize_t)
    cpdef add_class(self, label)

    cdef start_column(self, list columns, Column column)
    cdef forget_last(self, label, Py_ssize_t n_known)
    cdef drop_columns(self, list columns, Py_ssize_t n_kept)

    @cython.locals(number=int)
    cdef learn_first(self, label, Example x, double w)

    @cython.locals(number=Py_ssize_t, column=Column)
    cdef score(self, Example x)

    @cython.locals(number=int, highest=int)
    cdef int best(self, int excepted) except -2

    cdef learn(self, Example x, int number, double w)

    cdef learn_label(self, label, Example x, double w)

    @cython.locals(guess=int, number=int)
    cdef learn_scored(self, label, Example x, double w)

    @cython.locals(table=WeightTable, example=Example)
    cdef Example resolve(self, x)

    @cython.locals(number=Py_ssize_t)
    cpdef dict by_class(self, Column column)

    @cython.locals(number=Py_ssize_t)
    cpdef write_by_class(self, Column column, cells)


cdef class AdditiveMulticlassRule(MulticlassRule):
    cdef move(self, Example x, int gained, int lost, double size, long long n_before)

    @cython.locals(column=Column)
    cdef Py_ssize_t add(self, Example x, int number, double size) except -1
