# The C types of bound.py, for compiled code.
cimport cython

from perceptron_core.elementary cimport exp, log

cdef double _ALPHA
cdef double _HALF_LOG_2PI
cdef double _LARGE
cdef int _STEPS
cdef double _PRECISION


@cython.locals(excess=double, a=double, b=double, head=double)
cpdef bint is_surely(double k, double n, double share) except -1


@cython.locals(found=double, c=double, d=double, m=int, even=double, odd=double)
cdef double _fraction(double a, double b, double x) except? -1


@cython.locals(product=double, y=double, series=double)
cpdef double log_gamma(double x) except? -1
