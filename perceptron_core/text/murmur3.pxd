# What compiled code knows of murmur3.pyx.
from libc.stdint cimport uint32_t


cdef class Murmur:
    cdef uint32_t _prefix_bytes
    cdef uint32_t _state
    cdef uint32_t _carried
    cdef int _carried_bits

    cdef uint32_t hash(self, const unsigned char* data, Py_ssize_t start, Py_ssize_t end) noexcept
    cdef uint32_t hash_text(self, str text) except? 0
    cdef int hash_runs(
        self, const unsigned char* data, int n, Py_ssize_t count, int mask, int[::1] hashes, Py_ssize_t at
    ) except -1
