# The C types of neighbors.py, for compiled code; those of most variables are inferred.
cimport cython

from perceptron_core cimport c_memory as memory
from perceptron_core.elementary cimport log
from perceptron_core.linear.linear_rule cimport ClassVote
from perceptron_core.weights.example cimport Example

cdef extern from "math.h":
    cpdef double sqrt(double x)

cdef int SIZE
cdef int N_NEAREST, _BLOCK
cdef double CLIP, _CLIP, _FORGETTING


cdef class Window:
    cdef readonly Py_ssize_t n_numbers, n_bins, n_classes
    cdef readonly Example x
    cdef readonly long long n_events
    cdef dict _names, _places
    cdef list _bins
    cdef int[::1] _used, _starts, _labels, _nearest
    cdef Py_ssize_t _n_nearest
    cdef float[::1] _rows, _event, _distances
    cdef double[::1] _weights, _shares, _scores, _squares

    @cython.locals(start=Py_ssize_t, k=Py_ssize_t)
    cpdef arrange(self, list bins, list names)

    cdef void set_event(
        self, const double[::1] z, const unsigned char[::1] present, const unsigned char[::1] codes
    ) noexcept

    cdef void score(self) noexcept

    @cython.locals(limit=float, start=Py_ssize_t, k=Py_ssize_t, end=Py_ssize_t, j=Py_ssize_t)
    cdef void _choose(self, Py_ssize_t n) noexcept

    cdef void _vote(self) noexcept

    cdef reserve(self, Py_ssize_t n_classes)

    cdef void learn(self, Py_ssize_t label, double w) noexcept

    @cython.locals(rows=float[::1], number=Py_ssize_t)
    cpdef get_state(self)

    @cython.locals(n=Py_ssize_t, rows="const float[::1]", labels="const int[::1]", weights="const double[::1]")
    cpdef set_state(self, state, list bins, list names, Py_ssize_t max_classes)


cdef class NeighborVote(ClassVote):
    pass
