# The C types of examples.py, for compiled code.
cimport cython

from perceptron_core.weights.feature_array cimport FeatureArray
from service.partition.parts.part cimport Part

cdef long long _EXAMPLE_BYTES
cdef long long _FEATURE_BYTES
cdef Py_ssize_t _LOOSE_FEATURES
cdef long long _LOOSE_BYTES


# What it refers to is plain and refers to nothing else: of a hundred thousand the garbage collector need see none.
@cython.final
@cython.freelist(64)
@cython.no_gc
cdef class Example:
    cdef public object kept
    cdef public object predicted
    cdef public double score
    cdef public long long timestamp_ms
    cdef public object truth
    cdef public object step
    cdef public long long message_bytes
    cdef public object trace
    cdef public long long size_bytes
    cdef public bytes keys
    cdef public str event_id
    cdef public bint is_provisional
    cdef public str decision
    cdef public double weight

    cpdef features(self)

    @cython.locals(n=Py_ssize_t)
    cpdef Py_ssize_t compact(self) except -1

    cpdef Py_ssize_t pack(self) except -1


cpdef tuple row_of(Example example)


@cython.final
@cython.freelist(64)
@cython.no_gc
cdef class Step:
    cdef public str event_id
    cdef public object kept
    cdef public double score
    cdef public object predicted
    cdef public object truth
    cdef public bint mistake
    cdef public long long updates
    cdef public object label_delay_seconds
    cdef public object log_odds


@cython.final
cdef class LearnedExamples:
    cdef list _steps
    cdef readonly tuple parts
    cdef readonly bint has_log_odds
    cdef readonly Py_ssize_t n_mistakes
    cdef readonly list corrections

    @cython.locals(part=Part, score=double, mistake=bint)
    cpdef note(self, event_id, Example example, truth, change, long long updates, double label_delay_seconds=*)

    @cython.locals(part=Part)
    cpdef correct(self, Example example, truth, change)

    @cython.locals(step=Step, found=list)
    cpdef list mistakes(self)

    @cython.locals(step=Step, found=bytearray)
    cpdef cells(self)
