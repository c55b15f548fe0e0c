# The C types of confusion.py, for compiled code.

cdef class Confusion:
    cdef public object cells
    cdef public object truths
    cdef public object revoked

    cpdef observe(self, learned)

    cpdef correct(self, correction)

    cdef _add(self, truth, predicted)

    cdef _add_cells(self, bytes cells)
