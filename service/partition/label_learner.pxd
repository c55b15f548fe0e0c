# The C types of label_learner.py, for compiled code.
cimport cython

from service.stream.batches cimport OutputBatch
from service.messages.decoder cimport Incoming
from service.partition.output_writer cimport OutputWriter
from service.partition.examples cimport Example, LearnedExamples
from service.partition.label_join cimport LabelJoin


cdef class LabelLearner:
    cdef public object learner
    cdef public bint takes_weights
    cdef readonly LabelJoin join
    cdef readonly OutputWriter writer
    cdef readonly object counters
    cdef LearnedExamples _learned

    cpdef begin(self, LearnedExamples learned, OutputBatch outputs)

    cpdef advance(self, long long timestamp_ms)

    @cython.locals(example=Example, delay_seconds=double)
    cpdef receive(self, Incoming label, long long timestamp_ms)

    cpdef receive_repeated(self, Incoming event, Example known, long long timestamp_ms)

    cpdef note_first(self, Incoming event, early)

    @cython.locals(example=Example, weight=double, p=double)
    cdef _learn_due(self, long long timestamp_ms, truth)

    @cython.locals(example=Example)
    cdef _learn_overdue(self, long long timestamp_ms, truth)

    @cython.locals(weight=double)
    cdef _learn(self, Example example, Incoming label, long long timestamp_ms, double delay_seconds=*)

    cdef _count(self, Example example, truth, step, double delay_seconds=*)


cpdef double own_weight(given, double of_event) except? -1
