# The C types of thresholds.py, for compiled code.
cimport cython

from perceptron_core.elementary cimport exp, log

cdef double _LOWEST
cdef double _FAINTEST
cdef double _ALPHA
cdef double _HALF_LOG_2PI
cdef double _LARGE
cdef int _STEPS
cdef double _PRECISION


@cython.final
cdef class ClassBins:
    cdef readonly object truth
    cdef readonly int sign
    cdef public long long n_of_class
    cdef public long long n_others
    cdef readonly Py_ssize_t n
    cdef double[::1] _lows
    cdef double[::1] _highs
    cdef double[::1] _of_class
    cdef double[::1] _others
    cdef double[::1] _above
    cdef double[::1] _above_others

    cpdef double own_score(self, predicted, double score) except? -1

    cpdef bint is_own(self, truth) except -1

    @cython.locals(place=Py_ssize_t)
    cpdef add(self, double score, bint is_of_class, double weight=*)

    @cython.locals(k=Py_ssize_t, n_faint=Py_ssize_t)
    cpdef fade(self, double factor)

    @cython.locals(step=Py_ssize_t, k=Py_ssize_t, of_class=double, others=double, holds=bint)
    cpdef double find(self, int goal, double level, double cost_positive=*, double cost_negative=*) except? -1

    @cython.locals(k=Py_ssize_t, above=double, above_others=double)
    cdef tuple _add_up(self)

    @cython.locals(k=Py_ssize_t, found=double, missed=double, cost=double)
    cdef double _cheapest(self, double cost_positive, double least, double cost_negative) except? -1

    @cython.locals(first=Py_ssize_t, last=Py_ssize_t, middle=Py_ssize_t)
    cdef Py_ssize_t _place(self, double score) noexcept

    @cython.locals(low=double, place=Py_ssize_t, k=Py_ssize_t)
    cdef Py_ssize_t _enter(self, double score) except -1


@cython.locals(excess=double, a=double, b=double, head=double)
cpdef bint is_surely(double k, double n, double share) except -1


@cython.locals(found=double, c=double, d=double, m=int, even=double, odd=double)
cdef double _fraction(double a, double b, double x) except? -1


@cython.locals(product=double, y=double, series=double)
cpdef double log_gamma(double x) except? -1
