# What compiled code knows of examples.pyx.
from cpython.ref cimport PyObject

from service.partition.parts.part cimport Part


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
    cpdef long long compact(self) except? -1
    cpdef long long pack(self) except? -1


cpdef Example make_example(
    kept, predicted, double score, long long timestamp_ms, step=*, long long message_bytes=*, bytes trace=*
)


# A labelled prediction; of the objects it owns references.
cdef struct LearnedRow:
    PyObject* event_id
    PyObject* example
    PyObject* truth
    double score
    double label_delay_seconds  # NaN: label and event came together
    double log_odds  # NaN: the score is none
    long long updates
    bint mistake


cdef class LearnedExamples:
    cdef LearnedRow* rows
    cdef Py_ssize_t n
    cdef Py_ssize_t _capacity
    cdef readonly bint has_log_odds
    cdef readonly Py_ssize_t n_mistakes
    cdef readonly list corrections
    cdef readonly tuple parts

    cdef LearnedRow* add(self, event_id, Example example, truth) except NULL

    cpdef correct(self, Example example, truth, change)

    cpdef note(self, event_id, Example example, truth, change, long long updates, double label_delay_seconds=*)
