# What compiled code knows of batches.pyx.

cdef enum:
    # The headers of a message that has none, and the partition of an output that the writer chooses.
    NO_HEADERS = -1
    NO_PARTITION = -1

# The time of an output that is written with the time of writing.
cdef long long NO_TIME


cdef struct Entry:
    const unsigned char* key  # NULL: none
    const unsigned char* value  # NULL: none
    Py_ssize_t key_size
    Py_ssize_t value_size
    long long offset
    long long timestamp_ms
    int topic  # its index in `topics`
    int partition
    int headers  # their index in `_headers`


cdef class MessageBatch:
    cdef Entry* entries
    cdef Py_ssize_t n
    cdef Py_ssize_t _capacity
    cdef readonly list topics
    cdef list _headers
    # The bytes objects of keys and values; and by their ids, such lists of other batches.
    cdef list _blocks
    cdef dict _shared

    cdef Entry* put(self, topic, key, value, tuple headers) except NULL
    cdef int take(self, MessageBatch other, Py_ssize_t start, Py_ssize_t count, Py_ssize_t step) except -1
    cdef int share(self, MessageBatch other) except -1
    cdef int copy_entries(self, MessageBatch other, Py_ssize_t start, Py_ssize_t count, Py_ssize_t step) except -1
    cdef object message(self, Py_ssize_t index)
    cdef tuple headers_of(self, const Entry* entry)
    cdef int _reserve(self, Py_ssize_t n) except -1
    cdef int _topic_index(self, topic) except -1


# After each key and value there is a NUL.
cdef class RecordBatch(MessageBatch):
    cpdef add(self, tuple at, long long offset, long long timestamp_ms, key, value, tuple headers)
    cdef bint ends_run(self, Py_ssize_t k) noexcept
    cpdef value(self, Py_ssize_t index)
    cdef const unsigned char* data(self, Py_ssize_t index) noexcept
    cdef Py_ssize_t size(self, Py_ssize_t index) noexcept
    cpdef long long timestamp_ms(self, Py_ssize_t index)


cdef class OutputBatch(MessageBatch):
    cpdef tuple fields(self, Py_ssize_t index)
    cpdef add(self, topic, bytes key, bytes value, tuple headers)
