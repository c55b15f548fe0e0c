# The C types of decoder.py, for compiled code.
from service.messages.incoming cimport Incoming, own_message
from service.messages.labels cimport Vocabulary


cdef class Decoder:
    cdef public Vocabulary vocabulary
    cdef public long long max_message_bytes
    cdef public bint maps_time
    cdef public object vectors
    cdef object _events
    cdef object _labels
    cdef object _labels_topic
    cdef object _read_common

    cpdef Incoming decode(self, value, record=*)

    cdef _mapper_of(self, record)
