# The C types of index.py, for compiled code.
cimport cython
from libc.stdint cimport uint64_t

from perceptron_core cimport c_memory as memory
from perceptron_core.validation cimport as_double
from perceptron_core.weights.example cimport Example
from perceptron_core.weights.values cimport IndexedValues, NamedValues

cdef double MAX_MAGNITUDE
cdef int NO_SLOT


cdef class Index:
    cdef public Py_ssize_t n_fixed
    cdef public Py_ssize_t version

    cpdef int find(self, name) except -2

    cdef int resolve(self, x, Example example) except -1

    @cython.locals(names=tuple, k=Py_ssize_t, version=Py_ssize_t)
    cdef int resolve_values(self, NamedValues x, Example example) except -1

    cpdef dict by_name(self, Example x)

    cpdef cells(self, double default)

    @cython.locals(k=Py_ssize_t, slot=int)
    cdef look_up(self, Example x)

    cpdef int reserve(self, Py_ssize_t n_slots) except -1

    cpdef bint has(self, int slot) except -1

    cpdef at(self, int slot)

    cpdef add(self, name, int slot)

    cpdef remove(self, name)

    cpdef list slots(self)

    cpdef tuple collect(self, double[:] cells, bint with_zeros)

    cpdef tuple freeze(self, Py_ssize_t n_slots)

    cpdef Py_ssize_t ordinal(self, int slot) except -2


cdef class FeatureIndex(Index):
    cdef dict _slot_of
    cdef list _names
    cdef long long[::1] _ordinals
    cdef Py_ssize_t _n_ever

    cpdef int find(self, name) except -2

    @cython.locals(state=uint64_t)
    cdef int resolve(self, x, Example example) except -1

    @cython.locals(
        version=Py_ssize_t, slot_of=dict, names=list, n_known=Py_ssize_t, n=Py_ssize_t, n_missing=Py_ssize_t,
        number=double, slot=int,
    )
    cdef int _look_up(self, x, Example example, uint64_t state) except -1

    cpdef bint has(self, int slot) except -1

    cpdef at(self, int slot)

    @cython.locals(n_now=Py_ssize_t, ordinals="long long[::1]")
    cpdef int reserve(self, Py_ssize_t n_slots) except -1

    cpdef add(self, name, int slot)

    @cython.locals(slot=int)
    cpdef remove(self, name)

    cpdef list slots(self)

    @cython.locals(names=list, slot=int)
    cpdef tuple collect(self, double[:] cells, bint with_zeros)

    cpdef tuple freeze(self, Py_ssize_t n_slots)

    cpdef Py_ssize_t ordinal(self, int slot) except -2


cdef class HashedIndex(Index):
    @cython.locals(slot="long long")
    cpdef int find(self, name) except -2

    cdef int resolve(self, x, Example example) except -1

    cdef bint _fill(self, IndexedValues x, Example example) except -1

    @cython.locals(n=Py_ssize_t, number=double)
    cdef int _resolve(self, x, Example example) except -1

    cpdef cells(self, double default)

    cpdef dict by_name(self, Example x)
