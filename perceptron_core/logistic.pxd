# The C types of logistic.py, for compiled code.
cimport cython

cdef extern from "math.h":
    cpdef double exp(double x)


@cython.locals(power=double)
cpdef double logistic(double z) noexcept
