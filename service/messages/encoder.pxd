# The C types of encoder.py, for compiled code.
cimport cython

from service.messages.labels cimport Vocabulary
from service.messages.answer_record cimport answer_record


cdef class Answers:
    cdef Vocabulary _vocabulary
    cdef object _topic
    cdef tuple _spelling
    cdef dict _forms
    cdef dict _outcome_forms

    cpdef spell_as(self, tuple spelling)

    cpdef follow(self, label)

    @cython.locals(form=tuple)
    cpdef prediction(
        self, event_id, predicted, score, updates, truth, event_time_ms, probability=*, headers=*
    )

    @cython.locals(form=tuple)
    cpdef outcome(self, event_id, truth, predicted, delay_seconds, event_time_ms, headers=*)

    cdef tuple _make_form(self, predicted, truth)

    cdef tuple _make_outcome_form(self, truth, predicted)

    cdef _spell(self, truth)
