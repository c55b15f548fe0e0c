"""Records to be written: the compiled form of `output_batch.py`, which says what it means."""

from service.batches.message_batch cimport NO_PARTITION, NO_TIME, Entry, MessageBatch, bytes_at

from service.records import Output

cdef object _new = tuple.__new__


cdef class OutputBatch(MessageBatch):
    """Records to be written, in their order."""

    cdef object message(self, Py_ssize_t place):
        """Make the output at an index, which must be in range."""
        cdef Entry* entry = &self.entries[place]
        fields = (
            self.topics[entry.topic],
            bytes_at(entry.key, entry.key_size),
            bytes_at(entry.value, entry.value_size),
            self.headers_of(entry),
            None if entry.partition == NO_PARTITION else entry.partition,
            None if entry.timestamp_ms == NO_TIME else entry.timestamp_ms,
        )
        return _new(Output, fields)

    def append(self, output):
        """Add an output."""
        topic, key, value, headers, partition, timestamp_ms = output
        cdef long long time = NO_TIME if timestamp_ms is None else timestamp_ms
        cdef int to = NO_PARTITION if partition is None else partition
        cdef Entry* entry = self.put_bytes(topic, key, value, headers)
        entry.timestamp_ms, entry.partition = time, to
