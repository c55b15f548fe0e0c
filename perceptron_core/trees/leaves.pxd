# The C types of leaves.py, for compiled code.
cimport cython

from perceptron_core.elementary cimport log

cdef extern from "math.h":
    cpdef double sqrt(double x)

cdef int N_BINS, PART_BITS
cdef int _FULL
cdef int _TABLED
cdef int _MAX_ORDERS
cdef double[::1] _LOGS
cdef double _NEEDED, _MIN_GAIN, _TIE, _CONFIDENCE, _LOG_2


@cython.locals(n=Py_ssize_t)
cpdef double n_log_n(Py_ssize_t n) noexcept


cdef class Leaves:
    cdef readonly Py_ssize_t n_features, n_classes, n_blocks, n_free, limit, feature
    cdef unsigned short[::1] cells
    cdef int[::1] totals, seen, checked, _free, left, _order, _left
    cdef readonly unsigned long long mask
    cdef readonly double gain
    cdef double[::1] _shares
    cdef double _second, _whole

    cpdef bint has_room(self, Py_ssize_t n_features, Py_ssize_t n_classes)

    @cython.locals(other=Leaves, k=Py_ssize_t, b=Py_ssize_t, f=Py_ssize_t, c=Py_ssize_t)
    cpdef Leaves resized(self, list blocks, Py_ssize_t n_features, Py_ssize_t n_classes)

    @cython.locals(
        cells="unsigned short[::1]", totals="int[::1]", seen="int[::1]", checked="int[::1]", free="int[::1]",
        b=Py_ssize_t, k=Py_ssize_t, size=Py_ssize_t
    )
    cpdef resize(self, Py_ssize_t n_blocks)

    cpdef reserve(self, Py_ssize_t n)

    @cython.locals(block=Py_ssize_t)
    cdef Py_ssize_t take_block(self) noexcept

    cdef void free_block(self, Py_ssize_t block) noexcept

    @cython.locals(k=Py_ssize_t, start=Py_ssize_t)
    cdef void clear(self, Py_ssize_t block) noexcept

    @cython.locals(k=Py_ssize_t, c=Py_ssize_t, start=Py_ssize_t)
    cdef void restart(self, Py_ssize_t block, Py_ssize_t f, Py_ssize_t absent) noexcept

    @cython.locals(c=Py_ssize_t, start=Py_ssize_t)
    cdef void merge(self, Py_ssize_t block, Py_ssize_t f, Py_ssize_t k, Py_ssize_t other) noexcept

    @cython.locals(f=Py_ssize_t, at=Py_ssize_t, code=int)
    cdef void add(
        self, Py_ssize_t b, int[::1] features, Py_ssize_t first, Py_ssize_t n, const unsigned short[::1] places,
        int shift, Py_ssize_t c, int w
    ) noexcept

    @cython.locals(k=Py_ssize_t, start=Py_ssize_t, size=Py_ssize_t)
    cdef void _halve(self, Py_ssize_t block) noexcept

    cdef bint is_due(self, Py_ssize_t block) noexcept

    @cython.locals(
        f=Py_ssize_t, c=Py_ssize_t, n=Py_ssize_t, bound=double, bits=double, ratio=double, due=double, k=Py_ssize_t
    )
    cdef bint split(
        self, Py_ssize_t block, int[::1] features, Py_ssize_t first, Py_ssize_t n_features, Py_ssize_t n_numbers,
        Py_ssize_t n_classes
    ) noexcept

    @cython.locals(c=Py_ssize_t, parts=double)
    cdef double _gain_of(self, Py_ssize_t block, Py_ssize_t n_left, Py_ssize_t n_right) noexcept

    @cython.locals(k=Py_ssize_t, c=Py_ssize_t, at=Py_ssize_t, best=double, gain=double, n_left=Py_ssize_t,
                   n_bin=int, n=Py_ssize_t, cell=int, least=Py_ssize_t, mask="unsigned long long",
                   one="unsigned long long")
    cdef double _sweep(self, Py_ssize_t block, Py_ssize_t f, double best) noexcept

    @cython.locals(c=Py_ssize_t, k=Py_ssize_t)
    cdef void _order_numbers(self) noexcept

    @cython.locals(k=Py_ssize_t, c=Py_ssize_t, j=Py_ssize_t, n=double, at=Py_ssize_t, bin=int)
    cdef void _order_by_share(self, Py_ssize_t block, Py_ssize_t f, Py_ssize_t label) noexcept
