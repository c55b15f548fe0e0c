# What compiled code knows of feature_index.pyx.
from cpython.object cimport PyObject

from perceptron_core.weights.example cimport Example
from perceptron_core.weights.index cimport Index


cdef struct Cell:
    PyObject* name
    unsigned int fingerprint
    int slot


cdef class FeatureIndex(Index):
    cdef Cell* _cells
    cdef int _bits
    cdef Py_ssize_t _n
    cdef Py_ssize_t _n_ever
    # By slot: the names, which the cells only point to, and how many came before each; -1 where there is none.
    cdef list _names
    cdef long long[::1] _ordinals

    cpdef int find(self, name) except -2
    cpdef bint has(self, int slot) except -1
    cpdef at(self, int slot)
    cpdef int make_room(self, Py_ssize_t n_names, Py_ssize_t n_slots) except -1
    cpdef add(self, name, int slot)
    cpdef remove(self, name)
    cpdef list slots(self)
    cpdef tuple collect(self, double[:] cells, bint with_zeros)
    cpdef tuple freeze(self, Py_ssize_t n_slots)
    cpdef Py_ssize_t ordinal(self, int slot) except -2
    cdef int resolve(self, x, Example example) except -1
    cdef int _read(
        self, x, Example example, Py_ssize_t k, PyObject* name, PyObject* value, Py_ssize_t n_known
    ) except -1
    cdef int _resolve_dictionary(self, x, Example example, Py_ssize_t n_known) except -1
    cdef int _read_plain(
        self, x, Example example, Py_ssize_t k, PyObject* name, PyObject* value, Py_ssize_t n_known
    ) except -2
    cdef Cell* _cell_of_text(self, PyObject* name, unsigned int mark) noexcept
    cdef size_t _home(self, unsigned int mark) noexcept
    cdef Cell* _cell_of(self, PyObject* name, unsigned int mark) except NULL
    cdef _resize(self, int bits)
