# What compiled code knows of kept_examples.pyx.
from cpython.object cimport PyObject

from service.partition.examples cimport Example


cdef struct Kept:
    PyObject* event_id
    PyObject* example
    long long timestamp_ms
    unsigned int fingerprint  # of the id


cdef struct Slot:
    unsigned int fingerprint
    unsigned int place  # in the ring, counted from 1; 0: none


cdef class KeptExamples:
    # A ring, oldest first from `_first` on, and a hash table of its places. Both have a power of two entries.
    cdef Kept* _ring
    cdef Slot* _slots
    cdef size_t _first
    cdef readonly Py_ssize_t n
    cdef size_t _ring_mask
    cdef size_t _slot_mask
    cdef int _shift

    cpdef get(self, str event_id, default=*)
    cpdef add(self, str event_id, Example example)
    cpdef str oldest_id(self)
    cpdef Example oldest(self)
    cpdef long long oldest_ms(self)
    cpdef drop_oldest(self)
    cdef Kept* at(self, Py_ssize_t place) noexcept
    cdef Example find(self, str event_id)
    cdef void _prefetch(self) noexcept
    cdef void _enter(self, size_t place) noexcept
    cdef void _leave(self, size_t place) noexcept
    cdef int _grow(self) except -1


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
