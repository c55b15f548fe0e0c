# The C types of score_bins.py, for compiled code.
cimport cython

from service.partition.learned_examples cimport Step


cdef class ScoreBins:
    cdef public object positives
    cdef public object negatives

    @cython.locals(step=Step)
    cpdef observe(self, steps)
