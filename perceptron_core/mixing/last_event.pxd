# The C types of last_event.py, for compiled code.
cimport cython
from libc.stdint cimport uint64_t

from perceptron_core cimport c_memory as memory


cdef class LastEvent:
    cdef str _text
    cdef uint64_t _state
    cdef list _items

    cdef forget(self)

    cdef keep(self, x)

    @cython.locals(items=list, at=Py_ssize_t)
    cdef bint is_same(self, x) except -1
