# The C types of processor.py, for compiled code.
cimport cython

from service.batches.output_batch cimport OutputBatch
from service.batches.record_batch cimport RecordBatch
from service.messages.decoder cimport Decoder, Incoming
from service.messages.encoder cimport Answers
from service.messages.features cimport FeatureExtractor
from service.models.binary cimport BinaryLearner
from service.partition.example cimport Example, make_example
from service.partition.label_join cimport EarlyLabel, LabelJoin
from service.partition.label_learner cimport LabelLearner
from service.partition.learned_examples cimport LearnedExamples
from service.partition.time_bounds cimport TimeBounds


cdef class Processor:
    cdef public object learner
    cdef public LabelJoin join
    cdef public object rounds
    cdef public object counters
    cdef public tuple further
    cdef tuple _takers
    cdef tuple _observers
    cdef public Decoder decoder
    cdef public object schemas
    cdef public object observe
    cdef public object _extractor
    cdef object _vocabulary
    cdef TimeBounds _times
    cdef bint _maps_time
    cdef Answers _answers
    cdef object _dead_letters_topic
    cdef LabelLearner _labels
    cdef bint _times_out
    cdef bint _has_log_odds
    cdef bytes _trace
    cdef LearnedExamples _learned
    cdef OutputBatch _outputs
    cdef Py_ssize_t _n_predictions
    cdef bint _needs_records
    cdef bint _has_own_schema
    cdef bint _takes_values
    cdef FeatureExtractor _own_extractor
    cdef BinaryLearner _binary

    @cython.locals(batch=RecordBatch, outputs=OutputBatch, learned=LearnedExamples, place=Py_ssize_t)
    cpdef process_batch(self, records, now_ms=*)

    @cython.locals(message=Incoming, timestamp_ms=cython.longlong)
    cdef _take(self, RecordBatch batch, Py_ssize_t place)

    cdef Incoming _decode(self, RecordBatch batch, Py_ssize_t place)

    @cython.locals(known=Example, updates=cython.longlong, score=double)
    cpdef _receive_event(self, Incoming event, long long timestamp_ms)

    cdef _features_of(self, Incoming event)

    @cython.locals(early=EarlyLabel, example=Example)
    cdef Example _predict_new(self, Incoming event, x, long long timestamp_ms)

    @cython.locals(binary=BinaryLearner, decided=bint)
    cdef Example _predict(self, x, truth)
