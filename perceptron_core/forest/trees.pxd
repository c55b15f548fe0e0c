# The C types of trees.py, for compiled code.
cimport cython

from perceptron_core.forest.drawn_features cimport DrawnFeatures
from perceptron_core.forest.draws cimport poisson
from perceptron_core.forest.drift cimport Drift
from perceptron_core.forest.leaves cimport Leaves
from perceptron_core.weights.example cimport Example

cdef int MOST_NODES, N_PARTS
cdef int _DEEPEST
cdef double _MOST_WEIGHT


cdef class Trees(DrawnFeatures):
    cdef readonly Py_ssize_t n_numbers
    cdef readonly Example x
    cdef readonly Leaves leaves
    cdef Leaves _next
    cdef readonly Py_ssize_t n_regrown
    cdef readonly Py_ssize_t n_slots
    cdef int[::1] _shifts
    cdef int[::1] n_nodes
    cdef Drift drift
    cdef int[::1] tests
    cdef unsigned long long[::1] masks
    cdef int[::1] children
    cdef int[::1] depths
    cdef int[::1] blocks
    cdef int[::1] votes
    cdef int[::1] _ends
    cdef int[::1] forgotten
    cdef readonly long long n_events

    @cython.locals(tree=Py_ssize_t, n_features=Py_ssize_t)
    cpdef arrange(self, list columns, list hashes, Py_ssize_t n_classes)

    @cython.locals(tree=Py_ssize_t, node=int, mask="unsigned long long", at=int, shift=int,
                   n_trees=int)
    cdef void show(self, const unsigned short[::1] places) noexcept

    @cython.locals(n_features=Py_ssize_t)
    cdef reserve(self, Py_ssize_t n_classes)

    @cython.locals(tree=Py_ssize_t, k=Py_ssize_t, block=int)
    cdef widen(self, Py_ssize_t n_features, Py_ssize_t n_classes)

    @cython.locals(tree=Py_ssize_t, k=Py_ssize_t, blocks=list)
    cdef list _blocks_in_use(self)

    @cython.locals(tree=Py_ssize_t)
    cdef void _restart(self, Leaves leaves) noexcept

    @cython.locals(tree=Py_ssize_t, node=int, count=int, place="unsigned long long", weight=double,
                   is_restarted=bint, block=int, shift=int, first=Py_ssize_t, n=Py_ssize_t)
    cdef void learn(self, const unsigned short[::1] places, Py_ssize_t label, Py_ssize_t n_classes, double w) noexcept

    @cython.locals(node=int, k=Py_ssize_t)
    cdef void regrow(self, Py_ssize_t tree) noexcept

    @cython.locals(child=int, other=int, first=Py_ssize_t, block=int)
    cdef void _split(self, Py_ssize_t tree, int node, Py_ssize_t n_classes) noexcept

    @cython.locals(c=Py_ssize_t, best=int, most=int, count=int)
    cdef int _most_frequent(self, Py_ssize_t block, bint is_left, bint is_right) noexcept

    @cython.locals(tree=Py_ssize_t)
    cdef void _count_slots(self) noexcept
