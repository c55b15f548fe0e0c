# What compiled code knows of record_batch.pyx.
from service.batches.message_batch cimport Entry, MessageBatch


# Behind each key and value there is a NUL.
cdef class RecordBatch(MessageBatch):
    cdef int add(
        self, topic, int partition, long long offset, long long timestamp_ms,
        const void* key, Py_ssize_t key_size, const void* value, Py_ssize_t value_size, tuple headers,
    ) except -1
    cdef const unsigned char* _copy(self, const void* data, Py_ssize_t size) except? NULL
    cpdef value(self, Py_ssize_t place)
    cdef const unsigned char* data(self, Py_ssize_t place) noexcept
    cdef Py_ssize_t size(self, Py_ssize_t place) noexcept
    cpdef long long timestamp_ms(self, Py_ssize_t place)
    cpdef tuple headers(self, Py_ssize_t place)
