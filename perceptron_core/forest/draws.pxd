# The C types of draws.py, for compiled code.
cimport cython

cdef unsigned long long[::1] _BELOW
cdef int _MOST


cpdef unsigned long long mixed(unsigned long long number) noexcept


@cython.locals(count=int)
cpdef int poisson(unsigned long long number) noexcept
