# The C types of fern_cells.py, for compiled code.
cimport cython

from perceptron_core.forest.draws cimport mixed
from perceptron_core.weights.example cimport Example

cdef int FERN_DEPTH, N_BINS, _MARGIN
cdef unsigned long long _ALL, _FIRST_HALF, _SECOND_HALF


cdef class FernCells:
    cdef readonly Example x
    cdef readonly Py_ssize_t n_ferns
    cdef readonly Py_ssize_t n_numbers
    cdef readonly Py_ssize_t n_slots
    cdef int[::1] features
    cdef unsigned long long[::1] masks
    cdef unsigned long long _key
    cdef Py_ssize_t _n_features

    @cython.locals(names="unsigned long long[::1]", test=Py_ssize_t, k=Py_ssize_t, best=Py_ssize_t,
                   key="unsigned long long", lowest="unsigned long long", rank="unsigned long long")
    cpdef arrange(self, list bins, list hashes)

    @cython.locals(drawn="unsigned long long", threshold=int)
    cdef unsigned long long _mask(self, unsigned long long key, bint is_category) noexcept

    @cython.locals(features=int[::1], masks="unsigned long long[::1]", test=Py_ssize_t, fern=Py_ssize_t, cell=int,
                   _=int, mask="unsigned long long")
    cdef void show(self, const unsigned char[::1] bins) noexcept
