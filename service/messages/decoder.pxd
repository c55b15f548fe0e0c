# The C types of decoder.py, for compiled code.
cimport cython

from service.messages.labels cimport Vocabulary


# Made for each message, one after the other.
@cython.final
@cython.freelist(8)
cdef class Incoming:
    cdef public object id
    cdef public object features
    cdef public object text
    cdef public object label
    cdef public object truth
    cdef public bint is_label
    cdef public long long message_bytes
    cdef public object timestamp_ms
    cdef public object tenant
    cdef public tuple windowed
    cdef public object weight


@cython.locals(made=Incoming)
cpdef Incoming native_message(tuple fields, Vocabulary vocabulary, long long message_bytes)
