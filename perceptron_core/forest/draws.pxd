# The C types of draws.py, for compiled code.
cimport cython

cdef unsigned long long[::1] _BELOW
cdef int _MOST
cdef unsigned long long _32_BITS, _FIRST, _SECOND


@cython.locals(low="unsigned long long", high="unsigned long long")
cpdef unsigned long long mixed(unsigned long long number) noexcept


@cython.locals(count=int, drawn="unsigned long long")
cpdef int poisson(unsigned long long number) noexcept
