# The C types of record_writer.py, for compiled code.
cimport cython

cdef long long _FAR
cdef Py_ssize_t _LENGTH_BYTES
cdef Py_ssize_t _ROOM
cdef Py_ssize_t _HEADER_BYTES
cdef Py_ssize_t _FRAME_BYTES
cdef bytes _NO_HEADERS


@cython.final
cdef class RecordWriter:
    cdef readonly bytearray buffer
    cdef readonly Py_ssize_t n_records
    cdef readonly long long first_timestamp
    cdef readonly long long max_timestamp
    cdef Py_ssize_t _batch_bytes
    cdef Py_ssize_t _most_bytes
    cdef long long _now_ms
    cdef bytearray _owner
    cdef unsigned char* _numbers

    @cython.locals(
        timestamp="long long", n_key=Py_ssize_t, n_value=Py_ssize_t, tail=bytes, at=Py_ssize_t, frame=Py_ssize_t,
        front=Py_ssize_t, middle=Py_ssize_t, contents=Py_ssize_t, length=Py_ssize_t, begin=Py_ssize_t,
    )
    cpdef bint write(self, bytes key, bytes value, headers, timestamp_ms) except -1

    @cython.locals(written=bytearray, encoded=bytes, name=str, value=bytes)
    cdef bytes _headers(self, headers)

    @cython.locals(left="unsigned long long")
    cdef Py_ssize_t _put(self, Py_ssize_t at, long long number) noexcept
