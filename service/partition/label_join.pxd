# The C types of label_join.py, for compiled code.
cimport cython

from service.partition.examples cimport Example
from service.partition.parts.part cimport Part


cdef class LabelJoin(Part):
    cdef public dict examples
    cdef object _in_order
    cdef public object early
    cdef public Py_ssize_t n_pending_labels
    cdef public Py_ssize_t n_provisional
    cdef public Py_ssize_t n_evicted
    cdef public long long size_bytes
    cdef public double max_bytes
    cdef public long long _timeout_ms
    cdef long long _kept_ms
    cdef public long long _now_ms
    cdef public object _expired
    cdef public object _waiting
    cdef readonly object truth_on_timeout
    cdef readonly object delays
    cdef bint _times_out
    cdef Py_ssize_t _capacity
    cdef list _changed
    cdef Py_ssize_t _n_copied
    cdef Py_ssize_t _n_dropped

    @cython.locals(horizon=cython.longlong, kept_from=cython.longlong, oldest=Example)
    cpdef advance(self, long long timestamp_ms)

    @cython.locals(size_bytes=cython.longlong, examples=dict)
    cpdef keep(self, Example example)

    cpdef stop_waiting(self, Example example)

    cpdef note_change(self, Example example)

    cpdef take_provisionally(self, Example example)

    @cython.locals(example=Example)
    cdef bint _drop_oldest_example(self) except -1
