# The C types of part.py, for compiled code.


cdef class Part:
    cdef public object count

    cpdef features(self, dict features, event, long long timestamp_ms)

    cpdef bytes on_event(self, example, event, long long timestamp_ms, bint is_new)

    cpdef on_label(self, example, before, truth)
