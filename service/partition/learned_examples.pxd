# What compiled code knows of learned_examples.pyx.
from cpython.ref cimport PyObject

from service.partition.example cimport Example

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

    cdef LearnedRow* add(self, event_id, Example example, truth) except NULL

    cpdef note(self, event_id, Example example, truth, change, long long updates, double label_delay_seconds=*)
