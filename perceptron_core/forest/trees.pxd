# The C types of trees.py, for compiled code.
cimport cython

from perceptron_core.forest.draws cimport mixed, poisson
from perceptron_core.forest.leaves cimport Leaves
from perceptron_core.weights.example cimport Example

cdef extern from "math.h":
    cpdef double sqrt(double x)

cdef int N_TREES, MOST_NODES
cdef int _DEEPEST, _YOUNG
cdef double _MOST_WEIGHT, _SHORT, _LONG, _DEVIATIONS


cdef class Trees:
    cdef readonly Py_ssize_t n_numbers
    cdef readonly Py_ssize_t n_bins
    cdef readonly object seed
    cdef unsigned long long _key
    cdef readonly Example x
    cdef readonly Leaves leaves
    cdef readonly Py_ssize_t n_regrown
    cdef readonly Py_ssize_t n_slots
    cdef readonly list columns
    cdef unsigned long long[::1] _hashes
    cdef int[::1] _chosen
    cdef unsigned long long[::1] _ranks
    cdef int[::1] features
    cdef int[::1] widths
    cdef int[::1] n_nodes
    cdef int[::1] generations
    cdef int[::1] ages
    cdef double[::1] lately
    cdef double[::1] errors
    cdef int[::1] tests
    cdef unsigned long long[::1] masks
    cdef int[::1] children
    cdef int[::1] depths
    cdef int[::1] blocks
    cdef int[::1] votes
    cdef int[::1] _ends
    cdef int[::1] forgotten
    cdef readonly long long n_events

    @cython.locals(tree=Py_ssize_t)
    cpdef arrange(self, list columns, list hashes, Py_ssize_t n_classes)

    @cython.locals(tree=Py_ssize_t, node=int, feature=int, mask="unsigned long long")
    cdef void show(self, const unsigned char[::1] bins) noexcept

    cdef reserve(self)

    @cython.locals(tree=Py_ssize_t, node=int, count=int, place="unsigned long long", weight=double)
    cdef void learn(self, const unsigned char[::1] bins, Py_ssize_t label, Py_ssize_t n_classes, double w) noexcept

    cdef bint _has_drifted(self, Py_ssize_t tree, bint is_wrong) noexcept

    @cython.locals(node=int, k=Py_ssize_t)
    cdef void regrow(self, Py_ssize_t tree) noexcept

    @cython.locals(k=Py_ssize_t, j=Py_ssize_t, n=Py_ssize_t, width=Py_ssize_t, rank="unsigned long long",
                   seed="unsigned long long")
    cdef void _choose(self, Py_ssize_t tree) noexcept

    @cython.locals(child=int, other=int, first=Py_ssize_t, block=int)
    cdef void _split(self, Py_ssize_t tree, int node, Py_ssize_t n_classes) noexcept

    @cython.locals(c=Py_ssize_t, best=int, most=int, count=int)
    cdef int _most_frequent(self, Py_ssize_t block, bint is_left, bint is_right) noexcept

    @cython.locals(tree=Py_ssize_t)
    cdef void _count_slots(self) noexcept
