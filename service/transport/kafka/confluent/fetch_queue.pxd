# What compiled code knows of fetch_queue.pyx. The types are those of librdkafka's `rdkafka.h`.

cdef struct Message:
    int err
    void* rkt
    int partition
    void* payload
    size_t len
    void* key
    size_t key_len
    long long offset
    void* _private

ctypedef void (*Wake)(void* rk, void* opaque) noexcept nogil

cdef struct Functions:
    void* (*queue_new)(void* rk) noexcept nogil
    void* (*queue_get_consumer)(void* rk) noexcept nogil
    void* (*queue_get_partition)(void* rk, const char* topic, int partition) noexcept nogil
    void (*queue_forward)(void* source, void* target) noexcept nogil
    void (*queue_cb_event_enable)(void* queue, Wake wake, void* opaque) noexcept nogil
    void (*queue_yield)(void* queue) noexcept nogil
    void (*queue_destroy)(void* queue) noexcept nogil
    Py_ssize_t (*consume_batch_queue)(void* queue, int wait_ms, Message** messages, size_t n) noexcept nogil
    void (*message_destroy)(Message* message) noexcept nogil
    long long (*message_timestamp)(const Message* message, int* kind) noexcept nogil
    int (*message_headers)(const Message* message, void** headers) noexcept nogil
    int (*header_get_all)(
        const void* headers, size_t place, const char** name, const void** value, size_t* size
    ) noexcept nogil
    const char* (*topic_name)(const void* rkt) noexcept nogil
    const char* (*message_errstr)(const Message* message) noexcept nogil


cdef struct FetchQueueParts:
    Functions functions
    void* queue


cdef class FetchQueue:
    cdef object _client  # kept: it owns the handle
    cdef FetchQueueParts _parts
    cdef void* _rk
    cdef void* _client_queue
    cdef dict _names

    cdef Py_ssize_t _consume(self, Py_ssize_t most, int wait_ms, dict taken, set begun, list errors) except -1
    cdef int _keep(self, Message** messages, Py_ssize_t n, dict taken, set begun, list errors) except -1
    cdef object _topic(self, const void* rkt)
    cdef tuple _error(self, const Message* message)
    cdef tuple _headers(self, const Message* message, topic)
