"""Fetch records without a Python object for each message; see `fetch_queue.py`."""

cimport cython
from cpython.bytes cimport PyBytes_FromStringAndSize

from service.batches cimport RecordBatch

from service.transport.kafka.confluent.messages import warn_of_lost_headers
from service.transport.kafka.confluent.private import READING, entry_points

# The largest number of messages in one call.
cdef enum:
    MOST = 512


def open_fetch_queue(client):
    """Return the queue of a consumer; None for the published way."""
    found = entry_points(client, READING)
    return None if found is None else FetchQueue(client, found)


cdef void _wake(void* rk, void* opaque) noexcept nogil:
    """Wake the thread that waits at the queue: the client's own queue has an event."""
    cdef FetchQueueParts* parts = <FetchQueueParts*>opaque
    parts.functions.queue_yield(parts.queue)


@cython.no_gc_clear
cdef class FetchQueue:
    """A queue to which a consumer's partitions are forwarded."""

    def __cinit__(self, client, addresses):
        cdef size_t address
        cdef void** functions = <void**>&self._parts.functions
        self._client, self._names = client, {}
        address = addresses[0]
        self._rk = <void*>address
        for k in range(len(addresses) - 1):
            address = addresses[k + 1]
            functions[k] = <void*>address
        self._parts.queue = self._parts.functions.queue_new(self._rk)
        self._client_queue = self._parts.functions.queue_get_consumer(self._rk)
        self._parts.functions.queue_cb_event_enable(self._client_queue, _wake, &self._parts)

    def __dealloc__(self):
        self.close()

    def close(self):
        """Discard fetched messages; call this before the client is closed. Idempotent."""
        if self._parts.queue != NULL:
            self._parts.functions.queue_cb_event_enable(self._client_queue, NULL, NULL)
            self._parts.functions.queue_destroy(self._client_queue)
            self._parts.functions.queue_destroy(self._parts.queue)
            self._parts.queue = self._client_queue = NULL

    def forward(self, list places):
        """Forward the messages that are fetched from these partitions to this queue."""
        cdef bytes name
        cdef void* source
        for topic, partition in places:
            name = topic.encode()
            source = self._parts.functions.queue_get_partition(self._rk, name, partition)
            if source != NULL:
                self._parts.functions.queue_forward(source, self._parts.queue)
                self._parts.functions.queue_destroy(source)

    def poll(self, Py_ssize_t most, double wait_seconds, dict taken, set begun, list errors):
        """Add fetched records to `taken` and errors to `errors`; wait for the first message only."""
        cdef Py_ssize_t n = self._consume(most, 0, taken, begun, errors)
        if not n and most > 0 and wait_seconds > 0:
            n = self._consume(1, <int>(wait_seconds * 1000), taken, begun, errors)
            if n:
                n += self._consume(most - n, 0, taken, begun, errors)
        return n

    cdef Py_ssize_t _consume(self, Py_ssize_t most, int wait_ms, dict taken, set begun, list errors) except -1:
        """Consume up to `most` messages; return their number."""
        cdef Message* messages[MOST]
        cdef Py_ssize_t n, wanted, left = most
        while left > 0:
            wanted = left if left < MOST else MOST
            with nogil:
                n = self._parts.functions.consume_batch_queue(self._parts.queue, wait_ms, messages, wanted)
            if n <= 0:
                break
            self._keep(messages, n, taken, begun, errors)
            left -= n
            if n < wanted:
                break
        return most - left

    cdef int _keep(self, Message** messages, Py_ssize_t n, dict taken, set begun, list errors) except -1:
        """Add messages as records and destroy them; discard those of partitions that were not begun."""
        cdef Functions* functions = &self._parts.functions
        cdef RecordBatch batch = None
        cdef const Message* message
        cdef const void* rkt = NULL
        cdef Py_ssize_t k
        cdef int partition = -1
        topic = None
        try:
            for k in range(n):
                message = messages[k]
                if message.err:
                    errors.append(self._error(message))
                    continue
                if message.rkt != rkt or message.partition != partition:
                    rkt, partition = message.rkt, message.partition
                    topic = self._topic(rkt)
                    batch = taken.get((topic, partition))
                    if batch is None and partition in begun:
                        batch = taken[topic, partition] = RecordBatch()
                if batch is not None:
                    batch.add(
                        topic, partition, message.offset, functions.message_timestamp(message, NULL),
                        message.key, message.key_len, message.payload, message.len, self._headers(message, topic),
                    )
        finally:
            for k in range(n):
                functions.message_destroy(messages[k])
        return 0

    cdef object _topic(self, const void* rkt):
        cdef bytes name
        if rkt == NULL:
            return None
        name = self._parts.functions.topic_name(rkt)
        if name not in self._names:
            self._names[name] = name.decode()
        return self._names[name]

    cdef tuple _error(self, const Message* message):
        cdef bytes text = self._parts.functions.message_errstr(message)
        decoded = text.decode("utf-8", "replace")
        return message.err, decoded, self._topic(message.rkt), message.partition, message.offset

    cdef tuple _headers(self, const Message* message, topic):
        """Return the headers of a message; none if the name of one is not UTF-8."""
        cdef Functions* functions = &self._parts.functions
        cdef void* headers = NULL
        cdef const char* name
        cdef const void* value
        cdef size_t size, k = 0
        cdef bytes content
        cdef list found = []
        if functions.message_headers(message, &headers):
            return ()
        try:
            while not functions.header_get_all(headers, k, &name, &value, &size):
                content = PyBytes_FromStringAndSize(<const char*>value, size if value != NULL else 0)
                found.append((name.decode("utf-8"), content))
                k += 1
        except UnicodeDecodeError:
            warn_of_lost_headers(topic, message.partition, message.offset)
            return ()
        return tuple(found)
