# What compiled code knows of event_reader.pyx.

cdef class EventReader:
    cdef tuple _names
    cdef dict _template
    cdef Py_ssize_t _n_last
    cdef list _known_names

    cpdef tuple read(self, value)
    cdef int _fields(self, bytes value, const unsigned char** at, list found) except -1
    cdef object _features(self, const unsigned char** at, const unsigned char* end)
    cdef object _expected(self, const unsigned char** at, const unsigned char* end)
    cdef int _others(self, const unsigned char** at, const unsigned char* end, dict features) except -1
    cdef _expect(self, dict features)
    cdef str _name(self, const unsigned char* text, Py_ssize_t size)
