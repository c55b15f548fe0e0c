# What compiled code knows of example.pyx.

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
    cdef public str event_id

    cpdef features(self)
    cpdef long long compact(self) except? -1


cpdef Example make_example(kept, predicted, double score, step)
