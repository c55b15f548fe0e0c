# The C types of confusion.py, for compiled code.
cimport cython


cdef class Confusion:
    cdef public object cells
    cdef public object truths
    cdef public object revoked
    cdef public object commonest
    cdef public object baseline_mistakes

    cpdef observe(self, learned)

    cpdef correct(self, correction)

    cdef _add(self, truth, predicted)

    @cython.locals(
        cell=cython.longlong, truth=cython.longlong, positives=cython.longlong, negatives=cython.longlong,
        commonest=cython.longlong, mistakes=cython.longlong,
    )
    cdef _add_cells(self, bytes cells)
