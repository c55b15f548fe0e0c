# The C types of index.py, for compiled code.
cimport cython

from perceptron_core.weights.example cimport Example


cdef class Index:
    cdef public Py_ssize_t n_fixed
    cdef public Py_ssize_t version

    cpdef int find(self, name) except -2

    cdef int resolve(self, x, Example example) except -1

    cpdef dict by_name(self, Example x)

    cpdef cells(self, double default)

    @cython.locals(k=Py_ssize_t, slot=int)
    cdef look_up(self, Example x)

    cpdef int make_room(self, Py_ssize_t n_names, Py_ssize_t n_slots) except -1

    cpdef bint has(self, int slot) except -1

    cpdef at(self, int slot)

    cpdef add(self, name, int slot)

    cpdef remove(self, name)

    cpdef list items(self)
