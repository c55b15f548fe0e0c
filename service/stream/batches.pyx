"""Batches of records and outputs: the compiled form of `batches.py`, which documents it."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_Check, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.mem cimport PyMem_Free, PyMem_Realloc

from collections.abc import Sequence

from service.stream.records import RECORD_BYTES as _RECORD_BYTES, Output, Record

NO_TIME = -(2**62)

cdef object _new = tuple.__new__
cdef Py_ssize_t RECORD_BYTES = _RECORD_BYTES


cdef class MessageBatch:
    """Records or outputs in order."""

    def __cinit__(self):
        self.topics, self._headers, self._blocks, self._shared = [], [], [], {}

    def __init__(self, messages=()):
        self.extend(messages)

    def __dealloc__(self):
        PyMem_Free(self.entries)

    cdef Entry* put(self, topic, key, value, tuple headers) except NULL:
        """Add a message without partition and time; the next `put` may move it.

        The batch keeps references to its key and value: bytes, of a subclass too, or None.
        """
        cdef Entry* entry
        cdef int index = self.entries[self.n - 1].topic if self.n else 0
        _check_bytes(key)
        _check_bytes(value)
        if not self.n or self.topics[index] is not topic:  # else the topic of the message before, as mostly
            index = self._topic_index(topic)
        if self.n == self._capacity:
            self._reserve(1)
        entry = &self.entries[self.n]
        entry.key = entry.value = NULL
        entry.key_size = entry.value_size = 0
        entry.offset, entry.timestamp_ms = 0, NO_TIME
        entry.topic, entry.partition, entry.headers = index, NO_PARTITION, NO_HEADERS
        if key is not None:
            self._blocks.append(key)
            entry.key, entry.key_size = <const unsigned char*>PyBytes_AS_STRING(key), PyBytes_GET_SIZE(key)
        if value is not None:
            self._blocks.append(value)
            entry.value, entry.value_size = <const unsigned char*>PyBytes_AS_STRING(value), PyBytes_GET_SIZE(value)
        if headers:
            entry.headers = len(self._headers)
            self._headers.append(headers)
        self.n += 1
        return entry

    cdef int take(self, MessageBatch other, Py_ssize_t start, Py_ssize_t count, Py_ssize_t step) except -1:
        """Add messages of another batch and share its memory."""
        if count > 0:
            self.share(other)
            self.copy_entries(other, start, count, step)
        return 0

    cdef int share(self, MessageBatch other) except -1:
        """Keep a reference to the memory of another batch."""
        self._shared[id(other._blocks)] = other._blocks
        self._shared.update(other._shared)
        return 0

    cdef int copy_entries(self, MessageBatch other, Py_ssize_t start, Py_ssize_t count, Py_ssize_t step) except -1:
        """Add messages of a batch whose memory this batch already shares."""
        cdef Py_ssize_t k
        cdef Entry* entry
        cdef int topic = -1, index = -1
        self._reserve(count)
        for k in range(count):
            entry = &self.entries[self.n]
            entry[0] = other.entries[start + k * step]
            if entry.topic != topic:
                topic = entry.topic
                index = self._topic_index(other.topics[topic])
            entry.topic = index
            if entry.headers != NO_HEADERS:
                self._headers.append(other._headers[entry.headers])
                entry.headers = len(self._headers) - 1
            self.n += 1
        return 0

    cdef object message(self, Py_ssize_t index):
        """Make the record or output at an index, which must be in range."""
        raise NotImplementedError

    cdef tuple headers_of(self, const Entry* entry):
        """Return the headers of an entry."""
        return self._headers[entry.headers] if entry.headers != NO_HEADERS else ()

    cdef int _reserve(self, Py_ssize_t n) except -1:
        """Reserve memory for `n` more entries."""
        cdef Py_ssize_t capacity = self._capacity
        cdef Entry* entries
        if self.n + n <= capacity:
            return 0
        while capacity < self.n + n:
            capacity = 2 * capacity + 16
        entries = <Entry*>PyMem_Realloc(self.entries, capacity * sizeof(Entry))
        if entries == NULL:
            raise MemoryError
        self.entries, self._capacity = entries, capacity
        return 0

    cdef int _topic_index(self, topic) except -1:
        """Return the index of a topic in `topics`, and add it if it is missing."""
        cdef int index = 0
        for known in self.topics:
            if known is topic:
                return index
            index += 1
        if topic in self.topics:
            return self.topics.index(topic)
        self.topics.append(topic)
        return index

    def append(self, message):
        """Add a record or an output."""
        raise NotImplementedError

    def extend(self, messages):
        """Add records or outputs; records of a batch share its memory."""
        if isinstance(messages, type(self)):
            self.take(messages, 0, (<MessageBatch>messages).n, 1)
            return
        for message in messages:
            self.append(message)

    def __iadd__(self, messages):
        self.extend(messages)
        return self

    def __len__(self):
        return self.n

    def __getitem__(self, index):
        cdef MessageBatch part
        cdef Py_ssize_t k
        if isinstance(index, slice):
            chosen = range(*index.indices(self.n))
            part = type(self)()
            part.take(self, chosen.start, len(chosen), chosen.step)
            return part
        k = index
        if k < 0:
            k += self.n
        if not 0 <= k < self.n:
            raise IndexError("batch index out of range")
        return self.message(k)

    def __iter__(self):
        cdef Py_ssize_t k
        for k in range(self.n):
            yield self.message(k)

    def __eq__(self, other):
        """Return whether another sequence has the same records or outputs."""
        if not isinstance(other, Sequence):
            return NotImplemented
        return len(other) == self.n and all(mine == its for mine, its in zip(self, other))

    __hash__ = None

    def __repr__(self):
        return f"{type(self).__name__}({list(self)!r})"


cdef class RecordBatch(MessageBatch):
    """Records of one or more topics, in the order of processing."""

    def size_bytes(self, Py_ssize_t start=0, end=None):
        """Return the size of a slice."""
        cdef Py_ssize_t k, found = 0
        part = range(*slice(start, end).indices(self.n))
        for k in range(<Py_ssize_t>part.start, <Py_ssize_t>part.stop):
            found += RECORD_BYTES + self.entries[k].key_size + self.entries[k].value_size
        return found

    cdef object message(self, Py_ssize_t index):
        """Make the record at an index, which must be in range."""
        cdef Entry* entry = &self.entries[index]
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

    cpdef value(self, Py_ssize_t index):
        """Return the value of a record; None if it has none."""
        return bytes_at(self.entries[index].value, self.entries[index].value_size)

    cdef const unsigned char* data(self, Py_ssize_t index) noexcept:
        """Return a pointer to the value of a record; NULL if it has none."""
        return self.entries[index].value

    cdef Py_ssize_t size(self, Py_ssize_t index) noexcept:
        """Return the bytes of the value of a record; 0 if it has none."""
        return self.entries[index].value_size

    cpdef long long timestamp_ms(self, Py_ssize_t index):
        """Return the event time of a record."""
        return self.entries[index].timestamp_ms

    def append(self, record):
        """Add a record."""
        self.add(record[:2], *record[2:])

    cpdef add(self, tuple at, long long offset, long long timestamp_ms, key, value, tuple headers):
        """Add a record of a topic partition."""
        cdef Entry* entry = self.put(at[0], key, value, headers)
        entry.partition, entry.offset, entry.timestamp_ms = at[1], offset, timestamp_ms

    cdef bint ends_run(self, Py_ssize_t k) noexcept:
        """Return whether a record is the last of a run of the same topic and partition."""
        return (
            k + 1 == self.n
            or self.entries[k].topic != self.entries[k + 1].topic
            or self.entries[k].partition != self.entries[k + 1].partition
        )

    def counts(self):
        """Count the records by topic and partition."""
        cdef Py_ssize_t k, start = 0
        found = {}
        for k in range(self.n):
            if self.ends_run(k):
                partition = (self.topics[self.entries[k].topic], self.entries[k].partition)
                found[partition] = found.get(partition, 0) + k + 1 - start
                start = k + 1
        return found

    def next_offsets(self):
        """Return the offset after the last record of each topic and partition."""
        return {each: self.entries[<Py_ssize_t>index].offset + 1 for each, index in self.last_indices().items()}

    def last_indices(self):
        """Return the position in the batch of the last record of each topic and partition."""
        cdef Py_ssize_t k
        found = {}
        for k in range(self.n):
            if self.ends_run(k):
                found[self.topics[self.entries[k].topic], self.entries[k].partition] = k
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
        """Count the first records that fit into `max_records` and `max_bytes`."""
        cdef Py_ssize_t k
        for k in range(min(self.n, max_records)):
            max_bytes -= RECORD_BYTES + self.entries[k].key_size + self.entries[k].value_size
            if max_bytes < 0:
                return k
        return min(self.n, max_records)


cdef class OutputBatch(MessageBatch):
    """Records to write, in order."""

    cdef object message(self, Py_ssize_t index):
        """Make the output at an index, which must be in range."""
        return _new(Output, self.fields(index))

    cpdef tuple fields(self, Py_ssize_t index):
        """Return the fields of the output at an index, which must be in range."""
        cdef Entry* entry = &self.entries[index]
        return (
            self.topics[entry.topic],
            bytes_at(entry.key, entry.key_size),
            bytes_at(entry.value, entry.value_size),
            self.headers_of(entry),
            None if entry.partition == NO_PARTITION else entry.partition,
            None if entry.timestamp_ms == NO_TIME else entry.timestamp_ms,
        )

    cpdef add(self, topic, bytes key, bytes value, tuple headers):
        """Add an output whose partition and time the writer chooses."""
        self.put(topic, key, value, headers)

    def append(self, output):
        """Add an output."""
        topic, key, value, headers, partition, timestamp_ms = output
        cdef long long time = NO_TIME if timestamp_ms is None else timestamp_ms
        cdef int to = NO_PARTITION if partition is None else partition
        cdef Entry* entry = self.put(topic, key, value, headers)
        entry.timestamp_ms, entry.partition = time, to


def merge_by_time(batches):
    """Merge batches by event time; each keeps its order, and at equal times earlier batches come first."""
    cdef list sources = [each for each in batches if len(each)]
    cdef RecordBatch merged = RecordBatch(), source, first
    cdef list positions = [0] * len(sources)
    cdef Py_ssize_t k, at, best, end
    cdef long long best_time = 0, limit
    cdef bint is_before
    if len(sources) == 1:
        return sources[0]
    for source in sources:
        merged.share(source)
    while sources:
        best = -1
        for k in range(len(sources)):
            source, at = sources[k], positions[k]
            if best < 0 or source.entries[at].timestamp_ms < best_time:
                best, best_time = k, source.entries[at].timestamp_ms
        # From there on, all records that precede the first record of every other batch.
        first, at = sources[best], positions[best]
        end = at + 1
        while end < first.n:
            is_before = True
            for k in range(len(sources)):
                if k == best:
                    continue
                source = sources[k]
                limit = source.entries[<Py_ssize_t>positions[k]].timestamp_ms
                if first.entries[end].timestamp_ms > limit or (first.entries[end].timestamp_ms == limit and k < best):
                    is_before = False
                    break
            if not is_before:
                break
            end += 1
        merged.copy_entries(first, at, end - at, 1)
        positions[best] = end
        if end == first.n:
            del sources[best], positions[best]
    return merged


cdef object bytes_at(const unsigned char* data, Py_ssize_t size):
    """Copy a key or a value to a bytes object; return None for NULL."""
    return None if data == NULL else PyBytes_FromStringAndSize(<const char*>data, size)


cdef inline int _check_bytes(part) except -1:
    """Raise `TypeError` unless a value is bytes or None. (Cython's `bytes` would reject subclasses.)"""
    if part is not None and not PyBytes_Check(part):
        raise TypeError(f"a message is of bytes, not of {type(part).__name__}")
    return 0


Sequence.register(MessageBatch)
