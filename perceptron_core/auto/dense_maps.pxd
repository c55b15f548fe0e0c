# The C types of dense_maps.py, for compiled code.
cimport cython

from perceptron_core cimport c_memory as memory
from perceptron_core.auto.columns cimport Columns
from perceptron_core.elementary cimport asinh, cosine, log, write_cosines
from perceptron_core.weights.example cimport Example

cdef int N_HATS
cdef int N_CELLS
cdef int N_FOURIER
cdef double _SQRT2
cdef double _CLIP


cdef class FourierMap:
    cdef readonly Example x
    cdef readonly double width
    cdef readonly object seed
    cdef object name
    cdef double _scale
    cdef double[::1] _frequencies, _phases, _sums
    cdef dict _drawn

    cpdef arrange(self, Columns columns)

    @cython.locals(k=Py_ssize_t)
    cdef _draw(self, Py_ssize_t number, str name)

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

    cpdef arrange(self, Columns columns)

    @cython.locals(number=Py_ssize_t, n=Py_ssize_t, at=Py_ssize_t, z=double, a=double, u=double, position=double,
                   hat=int, share=double)
    cdef compute(self, Columns columns)

    cdef clear(self)

    @cython.locals(k=Py_ssize_t, at=Py_ssize_t, i=int, j=int)
    cdef void _append_pairs(self, Columns columns, Py_ssize_t at) noexcept
