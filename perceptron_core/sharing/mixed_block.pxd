# The C types of mixed_block.py, for compiled code.
cimport cython

from perceptron_core.sharing.kinds cimport Kind

cdef extern from "math.h":
    cpdef double floor(double x)

cdef int BY_COUNT
cdef int BY_LANE


cdef class MixedBlock:
    cdef readonly object label
    cdef readonly int of
    cdef readonly list kinds
    cdef int[::1] rows
    cdef readonly Py_ssize_t n
    cdef readonly list totals
    cdef readonly list weighted
    cdef readonly list weights
    cdef readonly list fractions

    @cython.locals(number=Py_ssize_t)
    cpdef add(self, positions, counts, block)

    @cython.locals(rows="int[::1]", n=Py_ssize_t, row=Py_ssize_t, number=Py_ssize_t)
    cpdef close(self)

    @cython.locals(
        totals="double[::1]", weighted="double[::1]", weights="double[::1]", fractions="int[::1]", entry=Py_ssize_t,
        row=int,
    )
    cdef _close_column(self, Py_ssize_t number)

    @cython.locals(
        totals="double[::1]", weighted="double[::1]", weights="double[::1]", fractions="int[::1]", entry=Py_ssize_t,
        row=int, position=int,
        shift=double, weight=double,
    )
    cdef _add_column(
        self, Kind kind, Py_ssize_t number, const int[::1] positions, const double[::1] counts,
        const int[::1] rows, const double[::1] shifts
    )
