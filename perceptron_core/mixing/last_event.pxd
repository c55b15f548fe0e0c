# The C types of last_event.py, for compiled code.
cimport cython


cdef class LastEvent:
    cdef str _text
    cdef list _items

    cdef forget(self)

    cdef keep(self, x)

    @cython.locals(items=list, at=Py_ssize_t)
    cdef bint is_same(self, x) except -1
