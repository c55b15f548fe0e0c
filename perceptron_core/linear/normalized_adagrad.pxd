# The C types of normalized_adagrad.py, for compiled code.
cimport cython

from perceptron_core cimport c_memory as memory
from perceptron_core.elementary cimport exp
from perceptron_core.linear.linear_rule cimport LinearRule
from perceptron_core.linear.multiclass_rule cimport MulticlassRule
from perceptron_core.elementary cimport logistic
from perceptron_core.weights.example cimport Column, Example, Scales


cdef extern from "math.h":
    cpdef double sqrt(double x)


cdef class NormalizedAdaGradRule(LinearRule):
    cdef public double learning_rate
    cdef public bint is_logistic
    cdef public double epsilon
    cdef public double margin
    cdef public Scales scale_column
    cdef public Column square_column
    cdef public Column ratios
    cdef Example _scored
    cdef public double bias_square
    cdef public double squared_sum
    cdef public long long n_examples

    cdef double score(self, Example x) except? -1

    @cython.locals(slope=double)
    cdef double learn_at(self, Example x, int sign, double w, double a) except? -1

    cdef double slope(self, int sign, double a) noexcept

    @cython.locals(
        k=Py_ssize_t, slot=int, gradient=double, square=double, weights=Column, squares=Column, slots="int*",
        ratios="double*"
    )
    cdef void descend(self, Example x, double slope, double rate) noexcept

    cdef double rate(self) noexcept

    cdef void descend_bias(self, double slope, double rate) noexcept


cpdef double adapted(double gradient, double square) noexcept


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
    cpdef add_class(self, label)

    cdef forget_last(self, label, Py_ssize_t n_known)

    @cython.locals(number=Py_ssize_t, weights=Column, total=double, k=Py_ssize_t, slot=int)
    cdef score(self, Example x)

    @cython.locals(best_other=int, loss=double, rate=double, each=int)
    cdef learn(self, Example x, int number, double w)

    cdef bint is_due(self, int number, int best_other) noexcept

    @cython.locals(highest=double, total=double, others=double, each=Py_ssize_t, power=double, loss=double)
    cdef double differentiate(self, int number, double w) except? -1

    @cython.locals(
        weights=Column, squares=Column, slope=double, k=Py_ssize_t, slot=int, gradient=double, square=double
    )
    cdef descend(self, int number, Example x, double rate)
