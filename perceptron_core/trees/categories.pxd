# The C types of categories.py, for compiled code.
cimport cython


cdef class Categories:
    cdef readonly Py_ssize_t limit, version
    cdef readonly list names, codes, seen, uncoded, chosen, lasts, freed
    cdef readonly dict numbers
    cdef list _none_before, _event

    cdef clear(self)

    cdef observe(self, name, value)

    @cython.locals(number=Py_ssize_t, codes=dict)
    cdef write_codes(self, unsigned char[::1] bins, Py_ssize_t first)

    cdef commit(self)

    cdef Py_ssize_t _add(self, name) except -1

    @cython.locals(code=Py_ssize_t)
    cdef _count(self, Py_ssize_t number, value)

    @cython.locals(codes=dict, lasts=list, code=Py_ssize_t, oldest="long long")
    cdef Py_ssize_t _give_code(self, Py_ssize_t number, value) except -1
