"""Enqueue outputs in librdkafka without a Python object for each; see `output_sender.py`."""

cimport cython

from confluent_kafka import KafkaError, KafkaException

from service.batches cimport NO_TIME, Entry
from service.batches cimport OutputBatch
from service.transport.kafka.confluent.fetch_queue cimport Message

from service.transport.kafka.confluent.private import WRITING, entry_points

cdef enum:
    # As in `rdkafka.h`: keys and values are copied; the producer's partitioner chooses.
    MSG_F_COPY = 0x2
    PARTITION_UA = -1
    MOST = 512  # messages that are enqueued at once
    # What is one batch: `batch.num.messages`, and the bytes that a message has at most beside key and value.
    BATCH_MESSAGES = 10_000
    MESSAGE_FRAME_BYTES = 48


def open_output_sender(client):
    """Return the sender of a producer; None for the published way."""
    found = entry_points(client, WRITING)
    return None if found is None else OutputSender(client, found)


@cython.no_gc_clear
cdef class OutputSender:
    """Sends batches of outputs through one producer."""

    def __cinit__(self, client, addresses):
        cdef size_t address = addresses[0]
        cdef void** functions = <void**>&self._functions
        self._client, self._topics = client, {}
        self._rk = <void*>address
        for k in range(len(addresses) - 1):
            address = addresses[k + 1]
            functions[k] = <void*>address

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
