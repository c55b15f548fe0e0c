# The C types of dense_maps.py, for compiled code.
cimport cython

from perceptron_core cimport c_memory as memory
from perceptron_core.auto.columns cimport Columns
from perceptron_core.elementary cimport asinh, cosine, log, write_cosines
from perceptron_core.trees.trees cimport mixed
from perceptron_core.weights.example cimport Example

cdef extern from "math.h":
    cpdef double sqrt(double x)


cdef int N_HATS
cdef int N_CELLS
cdef int N_FOURIER
cdef double _SQRT2, _TWO_PI
cdef double _CLIP


cdef class FourierMap:
    cdef readonly Example x
    cdef readonly double width
    cdef unsigned long long _key
    cdef double _scale
    cdef double[::1] _frequencies, _phases, _sums
    cdef dict _drawn

    @cython.locals(number=Py_ssize_t)
    cpdef arrange(self, dict hashes)

    @cython.locals(k=Py_ssize_t, radius=double)
    cdef void _draw(self, Py_ssize_t number, unsigned long long key) noexcept

    @cython.locals(
        number=Py_ssize_t, k=Py_ssize_t, factor=double, sums=double[::1], frequencies=double[::1]
    )
    cdef void compute(self, Columns columns) noexcept


cdef class DenseMaps:
    cdef readonly Py_ssize_t limit
    cdef readonly object seed
    cdef readonly Example linear, binned, paired
    cdef readonly FourierMap fourier
    cdef readonly FourierMap wide
    cdef readonly list pairs
    cdef readonly dict blocks
    cdef int[::1] _pair_columns, _bases, _cells
    cdef Py_ssize_t _n_pairs
    cdef unsigned long long _key

    cpdef arrange(self, dict hashes)

    @cython.locals(number=Py_ssize_t, n=Py_ssize_t, at=Py_ssize_t, z=double, a=double, u=double, position=double,
                   hat=int, share=double)
    cdef compute(self, Columns columns)

    cdef clear(self)

    @cython.locals(k=Py_ssize_t, at=Py_ssize_t, i=int, j=int)
    cdef void _append_pairs(self, Columns columns, Py_ssize_t at) noexcept


cdef double _uniform(unsigned long long key, unsigned long long number) noexcept
