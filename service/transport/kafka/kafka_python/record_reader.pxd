# The C types of record_reader.py, for compiled code.
cimport cython

cdef object _new
cdef long long _FAR
cdef int _VARINT_BITS


@cython.final
cdef class RecordReader:
    cdef bytes _owner
    cdef const unsigned char* _data
    cdef Py_ssize_t _end
    cdef readonly Py_ssize_t at
    cdef object _topic
    cdef object _partition
    cdef long long _base_offset
    cdef long long _timestamp_ms
    cdef bint _has_append_time

    @cython.locals(n_read=Py_ssize_t, at=Py_ssize_t, end="long long")
    cpdef Py_ssize_t read(self, list records, Py_ssize_t count, long long first_offset) except? -1

    @cython.locals(timestamp="long long", offset="long long", n_headers="long long", headers=tuple)
    cdef object _record(self, long long first_offset)

    @cython.locals(length="long long")
    cdef tuple _headers(self, long long count)

    @cython.locals(length="long long")
    cdef bytes _nullable_bytes(self)

    @cython.locals(result="unsigned long long", byte="unsigned long long", shift=int)
    cdef long long _varint(self) noexcept
