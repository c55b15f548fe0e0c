# The C types of mixer.py, for compiled code; those of most variables are inferred.
from perceptron_core cimport c_memory as memory
from perceptron_core.elementary cimport log
from perceptron_core.elementary cimport logistic

cdef double _MIN_SHARE, _MAX_WEIGHT, _NEGLIGIBLE, MAX_LEARNED, inf
cdef Py_ssize_t _LANES


cdef class LabelHistory:
    cdef double[::1] _rates, _shares
    cdef long long _n_of_class, _n_labels

    cpdef count(self, bint is_class)

    cpdef double information(self) except? -1

    cpdef write_log_odds(self, double[::1] inputs)


cdef extern from "math.h":
    cpdef double sqrt(double x)


cdef class Mixer:
    cdef public double variance, forgetting
    cdef readonly Py_ssize_t n
    cdef Py_ssize_t _capacity
    cdef double[::1] _weights, _covariance, _gain

    cpdef add_input(self, double weight)

    cpdef double mix(self, double[::1] inputs) except? -1

    cpdef learn(self, double[::1] inputs, bint target, double w, double log_odds, double information=*)

    cdef reserve(self, Py_ssize_t n)
