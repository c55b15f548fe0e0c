# The C types of columns.py, for compiled code; those of most variables are inferred.
cimport cython

cdef extern from "math.h":
    cpdef double sqrt(double x)

cdef double _WIDEST, _NEAR, _FAR
cdef int _RUN, _EARLY


cdef class Columns:
    cdef readonly Py_ssize_t limit, n, n_present, version
    cdef Py_ssize_t _next
    cdef readonly long long n_events
    cdef readonly list names
    cdef readonly dict numbers, candidates
    cdef list _waiting
    cdef double[::1] z, values, _counts, _means, _squares, _next_means, _next_squares, _early, _sorted, _last
    cdef double[::1] _n_repeated
    cdef long long[::1] _first
    cdef unsigned char[::1] _n_early, _n_far, present

    cdef clear(self)

    @cython.locals(number=Py_ssize_t)
    cdef bint observe(self, name, double value) except -1

    cpdef bint in_event(self) noexcept

    cdef void standardise(self) noexcept

    cdef double _limit_of(self, Py_ssize_t number) noexcept

    cdef double _winsorised(self, Py_ssize_t number, double limit) noexcept

    cdef void _store_early(self, Py_ssize_t number) noexcept

    cdef void _replace_outliers(self, Py_ssize_t number) noexcept

    cdef void _learn(self, Py_ssize_t number) noexcept

    cpdef commit(self)

    cdef _count_candidate(self, name, value)
    cdef _add_column(self, name, value)
    cdef _drop_rare_candidates(self)
