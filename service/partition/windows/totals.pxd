# The C types of totals.py, for compiled code.
cimport cython

from perceptron_core.elementary cimport sqrt
from service.partition.windows.cells cimport Cells

cdef int _REGISTERS, _EVENTS, _COUNT, _SUM, _MEAN, _LEAST, _MOST, _STD, _DISTINCT, _RATE
cdef double _FACTOR, _LINEAR_UP_TO, _NAN
cdef double[::1] _POWERS
cdef double[::1] _LINEAR


@cython.final
cdef class Totals:
    cdef Cells _cells
    cdef long long _events
    cdef long long _labelled
    cdef long long _positives
    cdef long long[::1] _counts
    cdef double[::1] _numbers
    cdef unsigned char[::1] _registers

    @cython.locals(column=Py_ssize_t, place=Py_ssize_t)
    cdef void begin(self) noexcept

    @cython.locals(cells=Cells, at=Py_ssize_t, place=Py_ssize_t, column=Py_ssize_t)
    cdef void add(self, Py_ssize_t cell) noexcept

    @cython.locals(n=cython.longlong, at=Py_ssize_t)
    cdef double value(self, int kind, Py_ssize_t column) noexcept

    @cython.locals(
        cells=Cells, before=cython.longlong, at=Py_ssize_t, total=double, mean=double, difference=double, share=double
    )
    cdef void _add_number(self, Py_ssize_t column, long long n, Py_ssize_t place) noexcept

    @cython.locals(inverse=double, zeros=int, register=Py_ssize_t, rank=int, estimate=double)
    cdef double _distinct(self, Py_ssize_t place) noexcept


@cython.locals(k=Py_ssize_t)
cdef void _raise_to(
    unsigned char[::1] registers, const unsigned char[::1] others, Py_ssize_t place, Py_ssize_t n
) noexcept
