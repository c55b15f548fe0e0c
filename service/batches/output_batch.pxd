# What compiled code knows of output_batch.pyx.

cdef enum:
    NO_PARTITION = -1
    NO_HEADERS = -1

# The time of an output that is written with the time of writing.
cdef long long NO_TIME


cdef struct OutputEntry:
    const unsigned char* key  # NULL: none
    const unsigned char* value  # NULL: none
    Py_ssize_t key_size
    Py_ssize_t value_size
    long long timestamp_ms
    int topic  # its place in `topics`
    int partition
    int headers  # their place in `_headers`


cdef class OutputBatch:
    cdef OutputEntry* entries
    cdef Py_ssize_t n
    cdef Py_ssize_t _capacity
    cdef readonly list topics
    cdef list _headers
    # The memory of keys and values, the last block of which has room for more; and bytes that were given.
    cdef list _blocks
    cdef list _kept
    cdef unsigned char* _free
    cdef Py_ssize_t _n_free

    cdef unsigned char* room(self, Py_ssize_t size) except NULL
    cdef void give_back(self, Py_ssize_t size) noexcept
    cdef OutputEntry* put(self, topic) except NULL
    cdef take(self, OutputBatch other, Py_ssize_t start, Py_ssize_t end, Py_ssize_t step)
    cdef const unsigned char* _held(self, bytes data) except? NULL
    cdef object output(self, Py_ssize_t place)
    cdef object headers_of(self, const OutputEntry* entry)
