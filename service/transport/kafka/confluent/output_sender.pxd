# What compiled code knows of output_sender.pyx. The types are those of librdkafka's `rdkafka.h`.

from service.batches.output_batch cimport OutputBatch


cdef struct Functions:
    void* (*topic_new)(void* rk, const char* name, void* options) noexcept nogil
    void (*topic_destroy)(void* topic) noexcept nogil
    int (*produce)(
        void* topic, int partition, int flags, void* value, size_t value_size, const void* key, size_t key_size,
        void* opaque,
    ) noexcept nogil
    int (*last_error)() noexcept nogil


cdef class OutputSender:
    cdef object _client  # kept: it owns the handle
    cdef Functions _functions
    cdef void* _rk
    cdef dict _topics

    cpdef Py_ssize_t send(self, OutputBatch outputs, Py_ssize_t first, Py_ssize_t batch_bytes, produce) except -1
    cdef void* _topic(self, topic) except NULL
