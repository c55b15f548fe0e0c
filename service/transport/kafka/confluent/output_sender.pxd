# What compiled code knows of output_sender.pyx. The types are those of librdkafka's `rdkafka.h`.

from service.batches cimport OutputBatch
from service.transport.kafka.confluent.fetch_queue cimport Message


cdef struct Functions:
    void* (*topic_new)(void* rk, const char* name, void* options) noexcept nogil
    void (*topic_destroy)(void* topic) noexcept nogil
    int (*produce_batch)(void* topic, int partition, int flags, Message* messages, int n) noexcept nogil


cdef class OutputSender:
    cdef object _client  # kept: it owns the handle
    cdef Functions _functions
    cdef void* _rk
    cdef dict _topics

    cpdef Py_ssize_t send(self, OutputBatch outputs, Py_ssize_t first, Py_ssize_t batch_bytes, produce) except -1
    cdef int _enqueue(self, topic, Message* messages, int n) except -1
    cdef void* _topic(self, topic) except NULL
