# The C types of encoder.py, for compiled code.
cimport cython

from service.stream.batches cimport OutputBatch
from service.messages.answer_record cimport write_answer
from service.messages.labels cimport Vocabulary


cdef class Answers:
    cdef Vocabulary _vocabulary
    cdef object _topic
    cdef tuple _spelling
    cdef dict _forms
    cdef dict _outcome_forms

    cpdef spell_as(self, tuple spelling)

    cpdef follow(self, label)

    @cython.locals(form=tuple, forms=dict)
    cpdef prediction(
        self, OutputBatch outputs, event_id, predicted, double score, long long updates, truth,
        long long event_time_ms, probability=*, tuple headers=*, bytes further=*,
    )

    @cython.locals(form=tuple, forms=dict)
    cpdef outcome(
        self, OutputBatch outputs, event_id, truth, predicted, double delay_seconds, long long event_time_ms,
        tuple headers=*,
    )

    cdef tuple _make_form(self, predicted, truth)

    cdef tuple _make_outcome_form(self, truth, predicted)

    cdef _spell(self, truth)
