# The C types of processor.py, for compiled code.
cimport cython

from service.stream.batches cimport OutputBatch, RecordBatch
from service.mapping.decoder cimport Decoder
from service.messages.incoming cimport Incoming
from service.partition.answers cimport Answers
from service.partition.examples cimport Example, LearnedExamples
from service.partition.label_join cimport LabelJoin
from service.partition.label_learner cimport LabelLearner, own_weight
from service.partition.parts.part cimport Part


cdef class Processor:
    cdef object _learner
    cdef public LabelJoin join
    cdef public object counters
    cdef public tuple further
    cdef tuple _featuring
    cdef tuple _predicting
    cdef tuple _learning
    cdef tuple _observing
    cdef frozenset _feature_names
    cdef bytes _fields
    cdef public Decoder decoder
    cdef public object schemas
    cdef public object observe
    cdef public object _extractor
    cdef object _extract
    cdef object _times
    cdef public long long start_ms
    cdef long long _earliest_ms
    cdef long long _latest_ms
    cdef Answers _answers
    cdef object _dead_letters_topic
    cdef LabelLearner _labels
    cdef public bint takes_weights
    cdef LearnedExamples _learned
    cdef Py_ssize_t _n_predictions
    cdef bint _uses_fast_path
    cdef object _fast_path

    @cython.locals(batch=RecordBatch, outputs=OutputBatch, learned=LearnedExamples, place=Py_ssize_t, end=Py_ssize_t)
    cpdef process_batch(self, records, processing_time_ms=*)

    @cython.locals(message=Incoming, decoder=Decoder)
    cdef _process(self, record)

    @cython.locals(example=Example, updates=cython.longlong, score=double)
    cpdef _receive_event(self, Incoming event, long long timestamp_ms)

    @cython.locals(part=Part)
    cpdef x_of(self, Incoming event, long long timestamp_ms)

    @cython.locals(part=Part, fields=bytes)
    cdef bytes _fields_of(self, Example example, Incoming event, long long timestamp_ms, bint is_new)

    @cython.locals(example=Example, weight=double)
    cdef Example _predict_new(self, Incoming event, x, long long timestamp_ms)
