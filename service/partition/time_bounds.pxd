# The C types of time_bounds.py, for compiled code.

cdef class TimeBounds:
    cdef public object earliest_ms
    cdef public object latest_ms
    cdef object _max_ahead_ms
