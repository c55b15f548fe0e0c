# What compiled code knows of event_reader.pyx.

# Features of a message whose names the next one is expected to have in the same order.
cdef enum: MAX_EXPECTED = 256


cdef class EventReader:
    # Of the message read last.
    cdef readonly object id
    cdef readonly object features
    cdef readonly object text
    cdef readonly object label
    cdef readonly object weight
    cdef tuple _names
    cdef dict _template
    cdef Py_ssize_t _n_last
    cdef list _known_names
    # The expected names in quotes, one after the other, and how long each is.
    cdef bytes _written
    cdef Py_ssize_t _sizes[MAX_EXPECTED]
    cdef double _numbers[MAX_EXPECTED]

    cpdef tuple read(self, value)
    cdef bint read_at(self, const unsigned char* value, Py_ssize_t size) except -1
    cdef bint _fields(self, const unsigned char** at, const unsigned char* end) except -1
    cdef bint _value(self, int field, const unsigned char** at, const unsigned char* end) except -1
    cdef object _features(self, const unsigned char** at, const unsigned char* end)
    cdef object _expected(self, const unsigned char** at, const unsigned char* end)
    cdef dict _so_far(self, dict features, Py_ssize_t n)
    cdef dict _first(self, Py_ssize_t n)
    cdef bint _others(self, const unsigned char** at, const unsigned char* end, dict features) except -1
    cdef _expect(self, dict features)
    cdef object _name(self, const unsigned char* text, Py_ssize_t size, bint is_ascii)
