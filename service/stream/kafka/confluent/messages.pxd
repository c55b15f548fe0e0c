# The C types of messages.py, for compiled code.
cimport cython

from service.stream.batches cimport OutputBatch, RecordBatch

cdef object _error_of
cdef object _topic_of
cdef object _partition_of
cdef object _offset_of
cdef object _time_of
cdef object _key_of
cdef object _value_of


@cython.locals(records=RecordBatch, place=tuple, partition=int)
cpdef keep(messages, dict taken, begun, note)


cdef tuple _headers(message)


@cython.locals(batch=OutputBatch, k=Py_ssize_t)
cpdef produce_each(produce, outputs)
