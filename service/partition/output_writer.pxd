# The C types of output_writer.py, for compiled code.
cimport cython

from service.stream.batches cimport OutputBatch
from service.messages.labels cimport Vocabulary
from service.partition.examples cimport Example


cdef class OutputWriter:
    cdef Vocabulary _vocabulary
    cdef object _topic
    cdef OutputBatch _outputs
    cdef bint _has_log_odds
    cdef tuple _spelling
    cdef dict _forms
    cdef dict _outcome_forms

    cpdef spell_as(self, tuple spelling)

    cpdef follow(self, label)

    @cython.locals(form=tuple, forms=dict, numbers=bytes)
    cpdef write_prediction(self, Example example, long long updates, truth, bytes further=*)

    @cython.locals(form=tuple, forms=dict)
    cpdef write_outcome(self, Example example, truth, double delay_seconds)
