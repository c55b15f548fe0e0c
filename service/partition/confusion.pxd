# The C types of confusion.py, for compiled code.
cimport cython

from service.partition.learned_examples cimport Step


cdef class Confusion:
    cdef public object cells
    cdef public object truths
    cdef public object commonest
    cdef public object baseline_mistakes

    @cython.locals(step=Step)
    cpdef observe(self, steps)

    cdef _add(self, truth, predicted)
