# The C types of label_learner.py, for compiled code.
cimport cython

from service.batches.output_batch cimport OutputBatch
from service.messages.decoder cimport Incoming
from service.messages.encoder cimport Answers
from service.models.binary cimport BinaryLearner
from service.partition.example cimport Example
from service.partition.label_join cimport EarlyLabel, LabelJoin
from service.partition.learned_examples cimport LearnedExamples


cdef class LabelLearner:
    cdef LabelJoin _join
    cdef Answers _answers
    cdef object _truth_on_timeout
    cdef object _learner
    cdef BinaryLearner _binary
    cdef LearnedExamples _learned
    cdef OutputBatch _outputs
    cdef public object counts
    cdef Py_ssize_t _n_matched

    cpdef begin(self, learner, counts, LearnedExamples learned, OutputBatch outputs)

    cpdef end(self)

    cdef _match(self)

    @cython.locals(example=Example, event_id=str, delay_seconds=double, time_ms=cython.longlong)
    cpdef receive(self, Incoming label, long long timestamp_ms, bytes trace)

    cpdef repeated(self, Incoming event, Example known)

    cpdef first(self, Incoming event, EarlyLabel early)

    @cython.locals(example=Example)
    cpdef settle_overdue(self, long long timestamp_ms)

    cdef _settle(self, event_id, Example example, truth, double delay_seconds=*)

    cdef long long n_updates(self) except? -1

    cdef _reconsider(self, Example example, truth)
