# The C types of arow.py, for compiled code.
cimport cython

from perceptron_core.linear.linear_rule cimport LinearRule
from perceptron_core.linear.multiclass_rule cimport MulticlassRule
from perceptron_core.validation cimport hinge
from perceptron_core.weights.example cimport Column, Example, Variances, shrunk

cdef double _MAX_R


cdef class ConfidenceWeightedRule(LinearRule):
    cdef public double forgetting
    cdef public double intercept_forgetting
    cdef public bint full
    cdef public Variances variance_column
    cdef public double bias_variance
    cdef public dict covariance

    cdef double variance(self, Example x) except? -1

    @cython.locals(of_bias=double)
    cdef double variance_now(self, Example x) except? -1

    cdef double bias_variance_now(self) noexcept

    cdef update(self, Example x, double step, double rho, double v)

    cdef void update_bias(self, double step, double rho, double v) noexcept

    @cython.locals(bias=double, covariance=dict)
    cdef update_full(self, Example x, double step, double rho, double v)

    cdef double full_variance(self, Example x) except? -1

    cdef dict with_constant(self, Example x)


cdef class AROWRule(ConfidenceWeightedRule):
    cdef public double r

    @cython.locals(alpha=double, v=double, r=double)
    cdef double learn_at(self, Example x, int sign, double w, double a) except? -1


cdef class MulticlassAROWRule(MulticlassRule):
    cdef public double r
    cdef public list variance_columns
    cdef public Column bias_variances

    cpdef clear(self)

    @cython.locals(number=Py_ssize_t)
    cpdef add_class(self, label)

    cdef forget_last(self, label, Py_ssize_t n_known)

    @cython.locals(best_other=int, loss=double, total=double, r=double, alpha=double)
    cdef learn(self, Example x, int number, double w)

    @cython.locals(column=Variances)
    cdef double variance(self, int number, Example x) except? -1

    @cython.locals(weights=Column, variances=Variances, of_bias=double)
    cdef learn_class(self, int number, Example x, double alpha, double r, double total)
