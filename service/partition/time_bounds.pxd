# The C types of time_bounds.py, for compiled code.

cdef class TimeBounds:
    cdef public long long earliest_ms
    cdef public long long latest_ms
    cdef object _max_ahead_ms
