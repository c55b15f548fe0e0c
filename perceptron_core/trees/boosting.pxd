# The C types of boosting.py, for compiled code; those of most variables are inferred.
cimport cython

from perceptron_core cimport c_memory as memory
from perceptron_core.elementary cimport exp
from perceptron_core.trees.trees cimport mixed

cdef int MAX_LEAVES, N_NODES, N_BINS, _MIN_IN_LEAF, _MIN_IN_SPLIT, _NARROW, _HESSIAN, _HESSIANS
cdef int _COUNTS, _BITS, _BIN, _CHOSEN
cdef long long _GRADIENT
cdef unsigned long long _ONE
cdef double _SUM_OF_RATES, _LAMBDA, _MAX_NODE_VALUE, _SMOOTHING, _G_UNITS, _H_UNITS


@cython.final
cdef class TreeNodes:
    cdef readonly Py_ssize_t n_trees, n_outputs
    cdef Py_ssize_t n_numbers
    cdef readonly int[::1] links
    cdef int[::1] _found, _unfinished
    cdef readonly unsigned long long[::1] masks
    cdef readonly double[::1] bases, limits, values

    @cython.locals(link=int, is_left=int, code=int)
    cdef int next_of(self, int first, int node, float value) noexcept

    cdef void compute(self, double[::1] outputs, const float[::1] row) noexcept

    @cython.locals(n=int, n_before=int, tree=int, node=int)
    cdef void _find_leaves(self, const float[::1] row) noexcept

    @cython.locals(first=int, node=int, number=int)
    cdef dict contributions(self, Py_ssize_t output, const float[::1] row)

    cdef void average(self, TreeNodes former) noexcept


@cython.final
cdef class Grower:
    cdef readonly Py_ssize_t n, width
    cdef Py_ssize_t n_numbers, _n_chosen, _n_leaves
    cdef unsigned char[::1] codes
    cdef int[::1] bins, _n_codes, _chosen, _order, _other, _starts, _ends, _nodes, _columns, _splits, _ranked
    cdef int[::1] _members
    cdef unsigned long long[::1] _names, _masks
    cdef long long[::1] packed, _sums, _totals, _lefts
    cdef double[::1] edges, values, _gains, _ranks, _scores, _factors, _gradients, _hessians
    cdef double unit, _rate

    cdef void find_edges(self, Py_ssize_t column, Py_ssize_t n) noexcept

    cdef void _sort(self, Py_ssize_t n) noexcept

    @cython.locals(code=int, step=int)
    cdef void code(self, Py_ssize_t column, Py_ssize_t event, double value) noexcept

    @cython.locals(p=double, w=double, n_members=int, g="long long", h="long long")
    cdef void set_gradients(
        self, const double[::1] predictions, const int[::1] labels, const double[::1] weights, unsigned long long group
    ) noexcept

    cdef void grow(self, TreeNodes nodes, unsigned long long seed) noexcept

    @cython.locals(p=double, w=double, label=int, value=double)
    cdef void fit(
        self, TreeNodes nodes, const double[::1] predictions, const int[::1] labels, const double[::1] weights
    ) noexcept

    cdef void update(self, TreeNodes nodes, double[::1] predictions) noexcept

    cdef void _choose(self, unsigned long long seed) noexcept

    cdef void _add_up(self, Py_ssize_t leaf) noexcept

    @cython.locals(is_left=int, code=int, total="long long", mask="unsigned long long")
    cdef void _split(self, Py_ssize_t leaf, TreeNodes nodes, Py_ssize_t n_nodes) noexcept

    @cython.locals(n=int, g=double, h=double)
    cdef void _search(self, Py_ssize_t leaf) noexcept

    @cython.locals(rank=double, code=int, n=int, j=int, k=int, left="long long", total="long long")
    cdef int _list(self, Py_ssize_t first, int n_codes, bint is_category) noexcept
