# The C types of decoder.py, for compiled code.
cimport cython

from service.messages.labels cimport Vocabulary


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


cdef class Decoder:
    cdef public Vocabulary _vocabulary
    cdef public long long _max_message_bytes

    cpdef Incoming decode(self, value, record=*)

    @cython.locals(fields=dict, is_label=bint)
    cdef Incoming _incoming(self, fields, long long message_bytes)
