# The C types of budget.py, for compiled code.
cimport cython

from perceptron_core.elementary cimport exp
from service.partition.parts.thresholds cimport ClassBins

cdef int _CANDIDATES
cdef int _TIMES
cdef long long _ORIGIN_MS
cdef double _FAINTEST


@cython.final
cdef class Budget:
    cdef readonly long long most
    cdef readonly long long period_ms
    cdef readonly long long n_used
    cdef readonly double threshold
    cdef ClassBins _bins
    cdef long long _first_ms
    cdef long long _latest_ms
    cdef long long _searched_ms
    cdef long long _n_since_search

    cdef long long _period_of(self, long long timestamp_ms) noexcept

    cpdef long long n_left(self, long long timestamp_ms) noexcept

    @cython.locals(left=cython.longlong, is_due=bint)
    cpdef bint would_take(self, double score, long long timestamp_ms) except -1

    @cython.locals(left=cython.longlong, is_due=bint)
    cpdef bint advance(self, long long timestamp_ms) except -1

    @cython.locals(takes=bint)
    cpdef bint take(self, double score) except -1

    @cython.locals(is_new=bint, is_old=bint)
    cdef bint _is_due(self, long long left, long long timestamp_ms) noexcept

    @cython.locals(latest_ms=cython.longlong, period=double, end_ms=cython.longlong, remaining=double, known=double)
    cdef double _find(self, long long left, long long timestamp_ms) except? -1

    cdef double _fading(self, long long latest_ms) noexcept
