# What compiled code knows of packed_examples.pyx.
from service.partition.example cimport Example


cdef class Packer:
    cdef list pieces
    cdef tuple _names
    cdef list _packed_names
    cdef unsigned char* _start
    cdef unsigned char* _at
    cdef unsigned char* _end

    cdef unsigned char* room(self, Py_ssize_t size) except NULL
    cdef flush(self)
    cdef row(self, str event_id, Example example)
    cdef features(self, kept)
    cdef head(self, Py_ssize_t n, unsigned char few, unsigned char many)
    cdef any(self, value)
    cdef text(self, str text)
    cdef number(self, double number)
    cdef whole(self, long long number)
    cdef raw(self, bytes packed)
