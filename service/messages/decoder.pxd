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


cdef class Decoder:
    cdef public Vocabulary vocabulary
    cdef public long long max_message_bytes
    cdef object _read_common

    @cython.locals(fields=tuple)
    cpdef Incoming decode(self, value, record=*)

    cpdef checked(self, value)

    @cython.locals(is_label=bint, made=Incoming)
    cdef Incoming _incoming(self, event_id, features, text, label, weight, long long message_bytes)
