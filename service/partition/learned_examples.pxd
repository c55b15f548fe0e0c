# The C types of learned_examples.py, for compiled code.
cimport cython

from service.partition.example cimport Example


cdef class Step:
    cdef public object event_id
    cdef public object x
    cdef public object score
    cdef public object predicted
    cdef public object truth
    cdef public object mistake
    cdef public object updates
    cdef public object label_delay_seconds
    cdef public object log_odds


cdef class LearnedExamples:
    cdef public list steps
    cdef bint _has_log_odds

    cpdef note(
        self, event_id, Example example, x, truth, change, updates, label_delay_seconds=*
    )
