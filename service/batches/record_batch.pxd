# What compiled code knows of record_batch.pyx.

cdef struct RecordEntry:
    const unsigned char* value  # NULL: none; a NUL stands behind it
    const unsigned char* key  # NULL: none; a NUL stands behind it
    Py_ssize_t value_size
    Py_ssize_t key_size
    long long offset
    long long timestamp_ms
    int topic  # its place in `topics`
    int partition
    int headers  # their place in `_headers`; -1: none


cdef class RecordBatch:
    cdef RecordEntry* entries
    cdef Py_ssize_t n
    cdef Py_ssize_t _capacity
    cdef readonly Py_ssize_t n_bytes
    cdef readonly list topics
    cdef list _headers
    # The memory of keys and values, the last block of which has room for more; and that of other batches.
    cdef list _blocks
    cdef dict _shared
    cdef unsigned char* _free
    cdef Py_ssize_t _n_free

    cdef RecordEntry* add(
        self, topic, int partition, long long offset, long long timestamp_ms,
        const void* key, Py_ssize_t key_size, const void* value, Py_ssize_t value_size, headers,
    ) except NULL
    cdef int _make_room(self, Py_ssize_t n) except -1
    cdef const unsigned char* _copy(self, const void* data, Py_ssize_t size) except NULL
    cdef int topic_place(self, topic) except -1
    cdef int take(self, RecordBatch other, Py_ssize_t start, Py_ssize_t end) except -1
    cdef int _share(self, RecordBatch other) except -1
    cdef int _take(self, RecordBatch other, Py_ssize_t start, Py_ssize_t end) except -1
    cdef object record(self, Py_ssize_t place)
    cdef object value_of(self, const RecordEntry* entry)
    cpdef value(self, Py_ssize_t place)
    cdef const unsigned char* data(self, Py_ssize_t place) noexcept
    cdef Py_ssize_t size(self, Py_ssize_t place) noexcept
    cpdef long long timestamp_ms(self, Py_ssize_t place)
    cpdef tuple headers(self, Py_ssize_t place)
