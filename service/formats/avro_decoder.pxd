# What compiled code knows of avro_decoder.pyx.

cdef class Plan:
    cdef public int op
    cdef public list names
    cdef public list children
    cdef public Py_ssize_t size
    cdef public long long scale
    cdef list _seen
    cdef dict _template


cdef class AvroDecoder:
    cdef Plan _plan
    cdef bytes _data
    cdef const unsigned char* _at
    cdef const unsigned char* _end
    cdef Py_ssize_t _left

    cpdef read(self, bytes data, Py_ssize_t start, bytes instead=*)
    cdef _read(self, Plan plan, int depth)
    cdef const unsigned char* _take(self, long long n_bytes) except NULL
    cdef int _long(self, long long* value) except -1
    cdef Py_ssize_t _index(self, Py_ssize_t count) except -1
    cdef Py_ssize_t _count(self) except -1
    cdef int _spend(self, long long count) except -1
    cdef str _text(self)
    cdef str _name(self, Plan plan, Py_ssize_t position)
    cdef list _read_array(self, Plan plan, int depth)
    cdef dict _read_map(self, Plan plan, int depth)
    cdef dict _read_record(self, Plan plan, int depth)
    cdef _read_logical(self, Plan plan)
