# The C types of numbers.py, for compiled code.
cimport cython

cdef extern from "math.h":
    cpdef double floor(double x)

cdef double _LARGEST_SINGLE
cdef double _SMALLEST_SINGLE


@cython.locals(
    single="float[::1]", largest=double, smallest=double, size=double, k=Py_ssize_t, n_whole=Py_ssize_t,
    n_nearly_whole=Py_ssize_t, is_whole=bint,
)
cpdef narrowest(const double[::1] numbers)


@cython.locals(at=Py_ssize_t, k=Py_ssize_t, value="long long", _=int)
cpdef write_whole(const double[::1] numbers, int width, unsigned char[::1] written)


@cython.locals(sign="long long", k=Py_ssize_t, value="long long", part="long long", byte=int)
cpdef read_whole(const unsigned char[::1] data, int width, double[::1] numbers)


@cython.locals(k=Py_ssize_t)
cpdef copy_to_singles(const double[::1] numbers, float[::1] singles)


@cython.locals(k=Py_ssize_t)
cpdef copy_from_singles(const float[::1] singles, double[::1] numbers)


@cython.locals(n_finite=Py_ssize_t, k=Py_ssize_t)
cpdef bint are_finite(const double[::1] numbers)
