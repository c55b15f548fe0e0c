# The C types of trees.py, for compiled code.
cimport cython

from perceptron_core.trees.leaves cimport Leaves
from perceptron_core.weights.example cimport Example

cdef int _MAX_POISSON, _MIN_REGROW_AGE, _MAX_AGE, _MIN_FEATURES, MAX_NODES, N_PARTS, PART_BITS, _DEEPEST, OTHER, _ABSENT
cdef double _SHORT_WINDOW, _LONG_WINDOW, _DRIFT_DEVIATIONS, _MAX_WEIGHT


cdef unsigned long long[::1] _BELOW
cdef unsigned long long _32_BITS, _FIRST, _SECOND, _ONE


@cython.locals(low="unsigned long long", high="unsigned long long")
cpdef unsigned long long mixed(unsigned long long number) noexcept


@cython.locals(count=int, drawn="unsigned long long")
cpdef int poisson(unsigned long long number) noexcept


cdef extern from "math.h":
    cpdef double sqrt(double x)


cdef class Drift:
    cdef int[::1] ages
    cdef double[::1] lately, errors

    cdef void restart(self, Py_ssize_t tree) noexcept

    cdef bint count_vote(self, Py_ssize_t tree, bint is_wrong) noexcept


cdef class DrawnFeatures:
    cdef readonly object seed
    cdef readonly Py_ssize_t n_trees, n_bins
    cdef unsigned long long _key
    cdef readonly list columns
    cdef unsigned long long[::1] _hashes, _ranks
    cdef int[::1] _chosen, features, widths, generations

    @cython.locals(k=Py_ssize_t)
    cdef note(self, list columns, list hashes)

    @cython.locals(k=Py_ssize_t, j=Py_ssize_t, n=Py_ssize_t, width=Py_ssize_t, rank="unsigned long long",
                   seed="unsigned long long")
    cdef void draw(self, Py_ssize_t tree, Py_ssize_t max_features) noexcept

    @cython.locals(n="unsigned long long", width="unsigned long long")
    cdef bint is_new_name(self, Py_ssize_t tree, unsigned long long name) noexcept

    cdef unsigned long long _seed_of(self, Py_ssize_t tree) noexcept

    cdef Py_ssize_t width_of(self, Py_ssize_t n) noexcept


cdef class Trees(DrawnFeatures):
    cdef readonly Py_ssize_t n_numbers, n_regrown, n_slots
    cdef readonly Example x
    cdef readonly Leaves leaves
    cdef Leaves _next
    cdef int[::1] _shifts, n_nodes, tests, children, depths, blocks, votes, _ends, forgotten
    cdef Drift drift
    cdef unsigned long long[::1] masks
    cdef readonly long long n_events

    @cython.locals(tree=Py_ssize_t, n_features=Py_ssize_t)
    cpdef arrange(self, list columns, list hashes, Py_ssize_t n_classes)

    @cython.locals(tree=Py_ssize_t)
    cdef _join(self, int feature, unsigned long long name, Py_ssize_t n_classes)

    @cython.locals(f=Py_ssize_t, node=Py_ssize_t)
    cdef _take(self, Py_ssize_t tree, int feature, Py_ssize_t n_classes)

    @cython.locals(tree=Py_ssize_t, node=Py_ssize_t, f=Py_ssize_t, bit="unsigned long long")
    cdef forget(self, int feature, int code)

    @cython.locals(f=Py_ssize_t)
    cdef Py_ssize_t _find_feature(self, Py_ssize_t tree, int feature) noexcept

    @cython.locals(tree=Py_ssize_t, node=int, mask="unsigned long long", at=int, shift=int,
                   n_trees=int)
    cdef void set_event(self, const unsigned short[::1] places) noexcept

    @cython.locals(n_features=Py_ssize_t)
    cdef reserve(self, Py_ssize_t n_classes)

    @cython.locals(block=int, node=Py_ssize_t)
    cdef _reserve_cells(self, Py_ssize_t n_features, Py_ssize_t n_classes)

    cdef list _blocks_in_use(self)

    cdef list _nodes_in_use(self)

    @cython.locals(tree=Py_ssize_t)
    cdef void _restart(self, Leaves leaves) noexcept

    @cython.locals(tree=Py_ssize_t, node=int, count=int, draw="unsigned long long", weight=double,
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
