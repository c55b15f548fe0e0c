# The C types of thresholds.py, for compiled code.
cimport cython

cdef extern from "math.h":
    cpdef double floor(double x)

from perceptron_core.elementary cimport exp, log, logistic

cdef double _LOWEST
cdef double _SLICES
cdef double _MIN_BIN_WEIGHT
cdef double _PRIOR_WEIGHT
cdef double _MAX_PRIOR_MEAN
cdef double _HALF_LOG_2PI
cdef double _STIRLING_FROM
cdef int _HALVINGS, _MAX_TERMS
cdef double _MAX_GROWTH
cdef double _TOLERANCE


@cython.final
cdef class ClassBins:
    cdef readonly object truth
    cdef readonly int sign
    cdef readonly list left_out
    cdef public long long n_of_class
    cdef public long long n_others
    cdef readonly Py_ssize_t n
    cdef double[::1] _lows
    cdef double[::1] _highs
    cdef double[::1] _of_class
    cdef double[::1] _others
    cdef double[::1] _above
    cdef double[::1] _above_others
    cdef double[::1] _above_expected
    cdef public bint is_calibrated
    cdef double _right
    cdef double _wrong
    cdef double _prior
    cdef double _prior_wrong

    cpdef double own_score(self, predicted, double score) except? -1

    cpdef bint is_own(self, truth) except -1

    @cython.locals(index=Py_ssize_t)
    cpdef add(self, double score, bint is_of_class, double weight=*)

    @cython.locals(k=Py_ssize_t, n_faint=Py_ssize_t)
    cpdef fade(self, double factor)

    @cython.locals(step=Py_ssize_t, k=Py_ssize_t, of_class=double, others=double, share=double)
    cpdef double find_threshold(
        self, int goal, double level, double confidence, double cost_positive=*, double cost_negative=*, double below=*
    ) except? -1

    @cython.locals(k=Py_ssize_t, left=double, width=double)
    cpdef double lowest_of(self, double weight) except? -1

    @cython.locals(n=double, mean=double)
    cdef _set_evidence(self, int goal, Py_ssize_t k, double of_class, double others)

    @cython.locals(a=double, b=double)
    cdef bint _meets(self, double times, double share, double confidence) except -1

    @cython.locals(k=Py_ssize_t, above=double, above_others=double, taken=double, taken_others=double,
                   expected=double, middle=double)
    cdef tuple _add_up(self, double below=*)

    @cython.locals(k=Py_ssize_t, cheapest=double, missed=double, cost=double)
    cdef double _cheapest(self, double cost_positive, double least, double cost_negative) except? -1

    @cython.locals(first=Py_ssize_t, last=Py_ssize_t, middle=Py_ssize_t)
    cdef Py_ssize_t _index_of(self, double score) noexcept

    @cython.locals(low=double, index=Py_ssize_t, k=Py_ssize_t)
    cdef Py_ssize_t _add_bin(self, double score) except -1


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

    cpdef bint advance(self, long long timestamp_ms) except -1

    cpdef bint decide(self, double score) except -1

    cdef bint _is_due(self, long long left, long long timestamp_ms) noexcept


@cython.locals(excess=double, slack=double, head=double)
cpdef bint surely_above(double a, double b, double share, double confidence) except -1


@cython.locals(fraction=double, c=double, d=double, m=int, even=double, odd=double)
cdef double _fraction(double a, double b, double x) except? -1


@cython.locals(product=double, y=double, series=double)
cpdef double log_gamma(double x) except? -1
