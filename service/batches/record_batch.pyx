"""Records that were read: the compiled form of `record_batch.py`, which says what it means."""

from libc.string cimport memcpy

from service.batches.message_batch cimport Entry, MessageBatch, bytes_at

from service.records import RECORD_BYTES as _RECORD_BYTES, Record

cdef object _new = tuple.__new__

cdef Py_ssize_t RECORD_BYTES = _RECORD_BYTES


cdef class RecordBatch(MessageBatch):
    """Records of one or more topics, in the order in which they are to be processed."""

    def size_bytes(self, Py_ssize_t start=0, end=None):
        """Return what a part of the batch counts for."""
        cdef Py_ssize_t k, found = 0
        part = range(*slice(start, end).indices(self.n))
        for k in range(<Py_ssize_t>part.start, <Py_ssize_t>part.stop):
            found += RECORD_BYTES + self.entries[k].key_size + self.entries[k].value_size
        return found

    cdef int add(
        self, topic, int partition, long long offset, long long timestamp_ms,
        const void* key, Py_ssize_t key_size, const void* value, Py_ssize_t value_size, tuple headers,
    ) except -1:
        """Add a record with copies of its key and value, which may be NULL."""
        cdef const unsigned char* key_at = self._copy(key, key_size)
        cdef const unsigned char* value_at = self._copy(value, value_size)
        cdef Entry* entry = self.put(topic, headers)
        entry.partition, entry.offset, entry.timestamp_ms = partition, offset, timestamp_ms
        if key_at != NULL:
            entry.key, entry.key_size = key_at, key_size
        if value_at != NULL:
            entry.value, entry.value_size = value_at, value_size
        return 0

    cdef const unsigned char* _copy(self, const void* data, Py_ssize_t size) except? NULL:
        """Copy bytes to memory of the batch, with a NUL after them; return NULL for NULL."""
        cdef unsigned char* at
        if data == NULL:
            return NULL
        at = self.room(size + 1)
        memcpy(at, data, size)
        at[size] = 0
        return at

    cdef object message(self, Py_ssize_t place):
        """Make the record at an index, which must be in range."""
        cdef Entry* entry = &self.entries[place]
        fields = (
            self.topics[entry.topic],
            entry.partition,
            entry.offset,
            entry.timestamp_ms,
            bytes_at(entry.key, entry.key_size),
            bytes_at(entry.value, entry.value_size),
            self.headers_of(entry),
        )
        return _new(Record, fields)

    cpdef value(self, Py_ssize_t place):
        """Return the value of a record; None if it has none."""
        return bytes_at(self.entries[place].value, self.entries[place].value_size)

    cdef const unsigned char* data(self, Py_ssize_t place) noexcept:
        """Return a pointer to the value of a record; NULL if it has none."""
        return self.entries[place].value

    cdef Py_ssize_t size(self, Py_ssize_t place) noexcept:
        """Return the bytes of the value of a record; 0 if it has none."""
        return self.entries[place].value_size

    cpdef long long timestamp_ms(self, Py_ssize_t place):
        """Return the event time of a record."""
        return self.entries[place].timestamp_ms

    cpdef tuple headers(self, Py_ssize_t place):
        """Return the headers of a record."""
        return self.headers_of(&self.entries[place])

    def append(self, record):
        """Add a record."""
        cdef int partition
        cdef long long offset, timestamp_ms
        topic, partition, offset, timestamp_ms, key, value, headers = record
        cdef Entry* entry = self.put_bytes(topic, key, value, headers)
        entry.partition, entry.offset, entry.timestamp_ms = partition, offset, timestamp_ms

    def counts(self):
        """Count the records by topic."""
        cdef Py_ssize_t k
        cdef int topic = -1
        cdef long long count = 0
        found = {}
        for k in range(self.n):
            if self.entries[k].topic != topic:
                if count:
                    found[self.topics[topic]] = found.get(self.topics[topic], 0) + count
                topic, count = self.entries[k].topic, 0
            count += 1
        if count:
            found[self.topics[topic]] = found.get(self.topics[topic], 0) + count
        return found

    def next_offsets(self):
        """Return the offset after the last record of each topic."""
        return {topic: self.entries[<Py_ssize_t>place].offset + 1 for topic, place in self.last_places().items()}

    def last_places(self):
        """Return the place of the last record of each topic."""
        cdef Py_ssize_t k
        found = {}
        for k in range(self.n):
            if k + 1 == self.n or self.entries[k].topic != self.entries[k + 1].topic:
                found[self.topics[self.entries[k].topic]] = k
        return found

    def runs(self):
        """Split the batch where the topic changes; return the (topic, part) pairs."""
        cdef Py_ssize_t k, start = 0
        found = []
        for k in range(self.n):
            if k + 1 == self.n or self.entries[k].topic != self.entries[k + 1].topic:
                part = self if k + 1 - start == self.n else self[start:k + 1]
                found.append((self.topics[self.entries[start].topic], part))
                start = k + 1
        return found

    def n_within(self, Py_ssize_t max_records, long long max_bytes):
        """Count the first records that fit: `max_records` at most, which count for `max_bytes` at most."""
        cdef Py_ssize_t k
        for k in range(min(self.n, max_records)):
            max_bytes -= RECORD_BYTES + self.entries[k].key_size + self.entries[k].value_size
            if max_bytes < 0:
                return k
        return min(self.n, max_records)
