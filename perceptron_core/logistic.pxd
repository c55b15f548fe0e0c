# The C types of logistic.py, for compiled code.
cimport cython

from perceptron_core.elementary cimport exp


@cython.locals(power=double)
cpdef double logistic(double z) noexcept
