"""Read and write through librdkafka itself, without a Python object for each message.

The functions and types are those of librdkafka's `rdkafka.h`; `handles` finds them in the library that the client
has loaded, together with the client's own handle.
"""

cimport cython
from cpython.bytes cimport PyBytes_FromStringAndSize

from confluent_kafka import KafkaError, KafkaException

from service.batches cimport Entry, NO_TIME, OutputBatch, RecordBatch

from service.transport.kafka.confluent.messages import warn_of_lost_headers

cdef enum:
    # The largest number of messages in one call.
    MOST = 512
    # As in `rdkafka.h`: keys and values are copied; the producer's partitioner chooses.
    MSG_F_COPY = 0x2
    PARTITION_UA = -1
    # What is one batch: `batch.num.messages`, and the bytes that a message has at most beside key and value.
    BATCH_MESSAGES = 10_000
    MESSAGE_FRAME_BYTES = 48

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

# In the order of `FUNCTIONS` in `handles`.
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
    void* (*topic_new)(void* rk, const char* name, void* options) noexcept nogil
    void (*topic_destroy)(void* topic) noexcept nogil
    int (*produce_batch)(void* topic, int partition, int flags, Message* messages, int n) noexcept nogil

cdef struct FetchQueueParts:
    Functions functions
    void* queue


cdef void* _handle(addresses, Functions* functions) except NULL:
    """Keep the functions that `handles.entry_points` has found; return the client's handle."""
    cdef size_t address = addresses[0]
    cdef void* handle = <void*>address
    cdef void** each = <void**>functions
    for k in range(sizeof(Functions) // sizeof(void*)):
        address = addresses[k + 1]
        each[k] = <void*>address
    return handle


cdef void _wake(void* rk, void* opaque) noexcept nogil:
    """Wake the thread that waits at the queue: the client's own queue has an event."""
    cdef FetchQueueParts* parts = <FetchQueueParts*>opaque
    parts.functions.queue_yield(parts.queue)


@cython.no_gc_clear
cdef class FetchQueue:
    """A queue to which a consumer's partitions are forwarded.

    Other events, such as rebalances, stay in the client's own queue, and wake a thread that waits for messages.
    """
    cdef object _client  # kept: it owns the handle
    cdef FetchQueueParts _parts
    cdef void* _rk
    cdef void* _client_queue
    cdef dict _names

    def __cinit__(self, client, addresses):
        self._client, self._names = client, {}
        self._rk = _handle(addresses, &self._parts.functions)
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
        """Forward the messages that are fetched from these partitions to this queue.

        Call this before the partitions are assigned, and repeatedly afterwards: librdkafka ends forwarding
        when it stops fetching, which is later than the call that makes it stop.
        """
        cdef bytes name
        cdef void* source
        for topic, partition in places:
            name = topic.encode()
            source = self._parts.functions.queue_get_partition(self._rk, name, partition)
            if source != NULL:
                self._parts.functions.queue_forward(source, self._parts.queue)
                self._parts.functions.queue_destroy(source)

    def poll(self, Py_ssize_t most, double wait_seconds, dict taken, set begun, list errors):
        """Add fetched records to `taken` and errors to `errors`; return the number of messages, `most` at most.

        Wait for the first message only, and no longer than until the client has an event to serve. Discard
        records of partitions that are not in `begun`. An error is its code and text; topic, partition, offset.
        """
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


@cython.no_gc_clear
cdef class OutputSender:
    """Sends batches of outputs through one producer."""
    cdef object _client  # kept: it owns the handle
    cdef Functions _functions
    cdef void* _rk
    cdef dict _topics

    def __cinit__(self, client, addresses):
        self._client, self._topics = client, {}
        self._rk = _handle(addresses, &self._functions)

    def __dealloc__(self):
        self.close()

    def close(self):
        """Release the producer. Idempotent."""
        cdef size_t address
        for address in self._topics.values():
            self._functions.topic_destroy(<void*>address)
        self._topics.clear()
        self._client = None

    cpdef Py_ssize_t send(self, OutputBatch outputs, Py_ssize_t first, Py_ssize_t batch_bytes, produce) except -1:
        """Enqueue outputs from `first` on at the producer, as many as are one batch; return how far it came.

        Those that have headers, a timestamp, a partition of their own or no key are given to `produce`. The
        outputs of a partition stay in their order. A message that cannot be delivered is not reported:
        librdkafka refuses to commit the transaction it belongs to, and does not say why. Raises
        `KafkaException` if the producer refuses one of them.

        With the GIL: nothing closes the producer meanwhile but what `produce` may let run.
        """
        cdef Message messages[MOST]
        cdef Py_ssize_t k, n_bytes = 0, end = min(outputs.n, first + BATCH_MESSAGES)
        cdef Entry* entry
        cdef Message* message
        cdef int place = -1, n = 0
        for k in range(first, end):
            entry = &outputs.entries[k]
            n_bytes += entry.key_size + entry.value_size + MESSAGE_FRAME_BYTES
            if n_bytes > batch_bytes and k > first:
                end = k
                break
            if n and (n == MOST or entry.topic != place or not _is_plain(entry)):
                self._enqueue(outputs.topics[place], messages, n)
                n = 0
            if not _is_plain(entry):
                produce(outputs.message(k))
                continue
            place = entry.topic
            message = &messages[n]
            message.payload, message.len = <void*>entry.value, entry.value_size
            message.key, message.key_len = <void*>entry.key, entry.key_size
            message._private = NULL
            n += 1
        if n:
            self._enqueue(outputs.topics[place], messages, n)
        return end

    cdef int _enqueue(self, topic, Message* messages, int n) except -1:
        """Enqueue messages of a topic; the first that is refused raises, those behind it may be enqueued."""
        cdef int k
        if self._functions.produce_batch(self._topic(topic), PARTITION_UA, MSG_F_COPY, messages, n) < n:
            for k in range(n):
                if messages[k].err:
                    raise KafkaException(KafkaError(messages[k].err))
        return 0

    cdef void* _topic(self, topic) except NULL:
        """Return librdkafka's handle of a topic, which has the producer's options."""
        cdef size_t address
        if self._client is None:
            raise RuntimeError("the producer is closed")
        if topic not in self._topics:
            address = <size_t>self._functions.topic_new(self._rk, (<str?>topic).encode(), NULL)
            if not address:
                raise KafkaException(KafkaError(KafkaError._INVALID_ARG, f"no topic can be called {topic!r}"))
            self._topics[topic] = address
        address = self._topics[topic]
        return <void*>address


cdef inline bint _is_plain(Entry* entry) noexcept:
    """Return whether a message has a key that chooses its partition, and nothing else."""
    return entry.headers < 0 and entry.timestamp_ms == NO_TIME and entry.partition < 0 and entry.key != NULL
