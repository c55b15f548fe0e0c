# The C types of averaged.py, for compiled code.
cimport cython

from perceptron_core.validation cimport rate_at
from perceptron_core.linear.linear_rule cimport LinearRule
from perceptron_core.linear.multiclass_rule cimport AdditiveMulticlassRule
from perceptron_core.weights.example cimport Column, Example

cdef double _MIN_FADE
cdef int NO_CLASS


cdef class AveragedRule(LinearRule):
    cdef public double decay
    cdef public object learning_rate
    cdef public Column late_column
    cdef public double current_bias
    cdef public long long n_examples
    cdef public double _late_bias
    cdef public double _fade
    cdef public double _remainder

    cdef double score(self, Example x) except? -1

    @cython.locals(current=double, late=double)
    cdef double learn(self, Example x, int sign, double w) except? -1

    cdef double learn_at(self, Example x, int sign, double w, double a) except? -1

    @cython.locals(mistaken=bint, step=double)
    cdef double step(self, Example x, int sign, double w, double current, double a) except? -1

    cpdef double mean(self, double current, double late) except? -1

    @cython.locals(late=double, n_zeros=Py_ssize_t)
    cdef add(self, Example x, double step)

    cdef advance_time(self)


cdef class AveragedMulticlassRule(AdditiveMulticlassRule):
    cdef public long long n_examples
    cdef public list late_columns
    cdef public Column late_biases

    cpdef clear(self)

    @cython.locals(number=Py_ssize_t)
    cpdef add_class(self, label)

    cdef forget_last(self, label, Py_ssize_t n_known)

    @cython.locals(number=Py_ssize_t, column=Column, late=double)
    cdef score(self, Example x)

    cpdef double mean(self, double current, double late) except? -1

    @cython.locals(guess=int)
    cdef learn(self, Example x, int number, double w)

    cdef move(self, Example x, int gained, int lost, double size, long long n_before)

    @cython.locals(column=Column)
    cdef add_late(self, Example x, int number, double size)
