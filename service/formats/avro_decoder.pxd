# The C types of avro_decoder.py, for compiled code.
cimport cython
from libc.stdint cimport int64_t, uint64_t

cdef extern from *:
    """
    /* Avro is little-endian. */
    static inline double double_at(PyObject* data, Py_ssize_t start) {
        return PyFloat_Unpack8(PyBytes_AS_STRING(data) + start, 1);
    }
    static inline double float_at(PyObject* data, Py_ssize_t start) {
        return PyFloat_Unpack4(PyBytes_AS_STRING(data) + start, 1);
    }
    static inline int spells(PyObject* text, PyObject* data, Py_ssize_t start, Py_ssize_t size) {
        return PyUnicode_IS_COMPACT_ASCII(text) && PyUnicode_GET_LENGTH(text) == size
            && !memcmp(PyUnicode_1BYTE_DATA(text), PyBytes_AS_STRING(data) + start, size);
    }
    """
    cpdef double double_at(bytes data, Py_ssize_t start) noexcept
    cpdef double float_at(bytes data, Py_ssize_t start) noexcept
    cpdef bint spells(str text, bytes data, Py_ssize_t start, Py_ssize_t size) noexcept

cdef int _DEEPEST, _FREE, _MOST_NAMES
cdef uint64_t _64_BITS
cdef int _NULL, _BOOLEAN, _LONG, _FLOAT, _DOUBLE, _STRING, _BYTES, _FIXED, _ENUM
cdef int _ARRAY, _MAP, _UNION, _RECORD, _DECIMAL, _DATE, _SCALED, _UUID


@cython.final
cdef class Plan:
    cdef int op
    cdef public list names
    cdef public list children
    cdef Py_ssize_t size
    cdef int64_t scale
    cdef dict empty
    cdef list seen


@cython.final
cdef class AvroDecoder:
    cdef Plan _plan
    cdef bytes _data
    cdef Py_ssize_t _at, _end, _left
    cdef bint _is_free

    cpdef read(self, bytes data, Py_ssize_t start)

    @cython.locals(op=int)
    cdef _read(self, Plan plan, int depth)

    @cython.locals(size=int64_t, start=Py_ssize_t)
    cdef _read_bytes(self, Plan plan)

    @cython.locals(items=list, item=Plan, count=Py_ssize_t, _=Py_ssize_t)
    cdef list _read_array(self, Plan plan, int depth)

    @cython.locals(items=dict, item=Plan, count=Py_ssize_t, _=Py_ssize_t, position=Py_ssize_t)
    cdef dict _read_map(self, Plan plan, int depth)

    @cython.locals(fields=dict, position=Py_ssize_t)
    cdef dict _read_record(self, Plan plan, int depth)

    @cython.locals(byte=int)
    cdef bint _boolean(self) except -1

    @cython.locals(size=int64_t, start=Py_ssize_t)
    cdef str _text(self)

    @cython.locals(size=int64_t, start=Py_ssize_t)
    cdef str _name(self, list seen, Py_ssize_t position)

    @cython.locals(start=Py_ssize_t)
    cdef Py_ssize_t _take(self, int64_t n_bytes) except -1

    @cython.locals(value=uint64_t, byte=uint64_t, shift=int)
    cdef int64_t _long(self) except? -1

    @cython.locals(index=int64_t)
    cdef Py_ssize_t _index(self, Py_ssize_t count) except -1

    @cython.locals(count=int64_t)
    cdef Py_ssize_t _count(self) except -1

    cdef int _spend(self, int64_t count) except -1
