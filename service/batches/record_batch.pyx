"""Records that were read: the compiled form of `record_batch.py`, which says what it means."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.mem cimport PyMem_Free, PyMem_Realloc
from libc.string cimport memcpy

from collections.abc import Sequence

from service.records import Record

cdef object _new = tuple.__new__

# Bytes of the first block of a batch, and of its largest, unless a record needs more.
cdef enum:
    FIRST_BLOCK = 1024
    LARGEST_BLOCK = 262_144


cdef class RecordBatch:
    """Records of one or more topics, in the order in which they are to be processed."""

    def __cinit__(self):
        self.topics, self._headers, self._blocks, self._shared = [], [], [], {}

    def __init__(self, records=()):
        self.extend(records)

    def __dealloc__(self):
        PyMem_Free(self.entries)

    cdef RecordEntry* add(
        self, topic, int partition, long long offset, long long timestamp_ms,
        const void* key, Py_ssize_t key_size, const void* value, Py_ssize_t value_size, headers,
    ) except NULL:
        """Add a record; its key and value are copied, and none where NULL."""
        self._make_room(1)
        cdef RecordEntry* entry = &self.entries[self.n]
        entry.topic = self.topic_place(topic)
        entry.partition, entry.offset, entry.timestamp_ms = partition, offset, timestamp_ms
        entry.key, entry.key_size = NULL, 0
        if key != NULL:
            entry.key, entry.key_size = self._copy(key, key_size), key_size
        entry.value, entry.value_size = NULL, 0
        if value != NULL:
            entry.value, entry.value_size = self._copy(value, value_size), value_size
        entry.headers = -1
        if headers:
            entry.headers = len(self._headers)
            self._headers.append(headers)
        self.n_bytes += entry.key_size + entry.value_size
        self.n += 1
        return entry

    cdef int _make_room(self, Py_ssize_t n) except -1:
        cdef Py_ssize_t capacity = self._capacity
        cdef RecordEntry* entries
        if self.n + n <= capacity:
            return 0
        while capacity < self.n + n:
            capacity = 2 * capacity + 16
        entries = <RecordEntry*>PyMem_Realloc(self.entries, capacity * sizeof(RecordEntry))
        if entries == NULL:
            raise MemoryError
        self.entries, self._capacity = entries, capacity
        return 0

    cdef const unsigned char* _copy(self, const void* data, Py_ssize_t size) except NULL:
        """Copy bytes to where they stay, with a NUL behind them."""
        cdef Py_ssize_t block_size
        cdef bytes block
        cdef unsigned char* at
        if size >= self._n_free:
            block_size = min(FIRST_BLOCK << min(len(self._blocks), 8), LARGEST_BLOCK)
            block = PyBytes_FromStringAndSize(NULL, max(block_size, size + 1))
            self._blocks.append(block)
            self._free, self._n_free = <unsigned char*>PyBytes_AS_STRING(block), PyBytes_GET_SIZE(block)
        at = self._free
        memcpy(at, data, size)
        at[size] = 0
        self._free += size + 1
        self._n_free -= size + 1
        return at

    cdef int topic_place(self, topic) except -1:
        """Return the place of a topic in `topics`, where it is from now on."""
        cdef int place = 0
        for known in self.topics:
            if known is topic:
                return place
            place += 1
        if topic in self.topics:
            return self.topics.index(topic)
        self.topics.append(topic)
        return place

    cdef int take(self, RecordBatch other, Py_ssize_t start, Py_ssize_t end) except -1:
        """Add records of another batch, whose memory they share."""
        if start < end:
            self._share(other)
            self._take(other, start, end)
        return 0

    cdef int _share(self, RecordBatch other) except -1:
        """Keep the memory of another batch."""
        self._shared[id(other._blocks)] = other._blocks
        self._shared.update(other._shared)
        return 0

    cdef int _take(self, RecordBatch other, Py_ssize_t start, Py_ssize_t end) except -1:
        """Add records of a batch whose memory is kept."""
        cdef Py_ssize_t k
        cdef RecordEntry* entry
        cdef int topic = -1, place = -1
        self._make_room(end - start)
        for k in range(start, end):
            entry = &self.entries[self.n]
            entry[0] = other.entries[k]
            if entry.topic != topic:
                topic = entry.topic
                place = self.topic_place(other.topics[topic])
            entry.topic = place
            if entry.headers >= 0:
                self._headers.append(other._headers[entry.headers])
                entry.headers = len(self._headers) - 1
            self.n_bytes += entry.key_size + entry.value_size
            self.n += 1
        return 0

    cdef object record(self, Py_ssize_t place):
        """Make the record of this place, which must be there."""
        cdef RecordEntry* entry = &self.entries[place]
        key = None if entry.key == NULL else PyBytes_FromStringAndSize(<const char*>entry.key, entry.key_size)
        headers = self._headers[entry.headers] if entry.headers >= 0 else ()
        fields = (
            self.topics[entry.topic], entry.partition, entry.offset, entry.timestamp_ms,
            key, self.value_of(entry), headers,
        )
        return _new(Record, fields)

    cdef object value_of(self, const RecordEntry* entry):
        """Make the value of an entry."""
        if entry.value == NULL:
            return None
        return PyBytes_FromStringAndSize(<const char*>entry.value, entry.value_size)

    cpdef value(self, Py_ssize_t place):
        """Return the value of a record; None if it has none."""
        return self.value_of(&self.entries[place])

    cdef const unsigned char* data(self, Py_ssize_t place) noexcept:
        """Return where the value of a record lies, of which there may be none."""
        return self.entries[place].value

    cdef Py_ssize_t size(self, Py_ssize_t place) noexcept:
        """Return the bytes of the value of a record; 0 if it has none."""
        return self.entries[place].value_size

    cpdef long long timestamp_ms(self, Py_ssize_t place):
        """Return the event time of a record."""
        return self.entries[place].timestamp_ms

    cpdef tuple headers(self, Py_ssize_t place):
        """Return the headers of a record."""
        return self._headers[self.entries[place].headers] if self.entries[place].headers >= 0 else ()

    def append(self, record):
        """Add a record."""
        cdef bytes key, value
        cdef const char* key_at = NULL
        cdef const char* value_at = NULL
        cdef Py_ssize_t key_size = 0, value_size = 0
        topic, partition, offset, timestamp_ms, key, value, headers = record
        if key is not None:
            key_at, key_size = PyBytes_AS_STRING(key), PyBytes_GET_SIZE(key)
        if value is not None:
            value_at, value_size = PyBytes_AS_STRING(value), PyBytes_GET_SIZE(value)
        self.add(topic, partition, offset, timestamp_ms, key_at, key_size, value_at, value_size, headers)

    def extend(self, records):
        """Add records; those of a batch share its memory."""
        if isinstance(records, RecordBatch):
            self.take(records, 0, (<RecordBatch>records).n)
            return
        for record in records:
            self.append(record)

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
        """Cut the batch where the topic changes; return the parts, each with its topic."""
        cdef Py_ssize_t k, start = 0
        found = []
        for k in range(self.n):
            if k + 1 == self.n or self.entries[k].topic != self.entries[k + 1].topic:
                part = self if k + 1 - start == self.n else self[start:k + 1]
                found.append((self.topics[self.entries[start].topic], part))
                start = k + 1
        return found

    def n_within(self, Py_ssize_t max_records, long long max_bytes, long long record_bytes):
        """Count the first records that fit, `max_records` at most."""
        cdef Py_ssize_t k
        for k in range(min(self.n, max_records)):
            max_bytes -= record_bytes + self.entries[k].key_size + self.entries[k].value_size
            if max_bytes < 0:
                return k
        return min(self.n, max_records)

    def __len__(self):
        return self.n

    def __getitem__(self, place):
        cdef RecordBatch part
        cdef Py_ssize_t start, end, step, k
        if isinstance(place, slice):
            start, end, step = place.indices(self.n)
            part = RecordBatch()
            if step == 1:
                part.take(self, start, end)
            else:
                for k in range(start, end, step):
                    part.take(self, k, k + 1)
            return part
        k = place
        if k < 0:
            k += self.n
        if not 0 <= k < self.n:
            raise IndexError("no such record")
        return self.record(k)

    def __iter__(self):
        cdef Py_ssize_t k
        for k in range(self.n):
            yield self.record(k)

    def __eq__(self, other):
        """Return whether another sequence has the same records."""
        if not isinstance(other, Sequence):
            return NotImplemented
        return len(other) == self.n and all(mine == its for mine, its in zip(self, other))

    __hash__ = None

    def __repr__(self):
        return f"RecordBatch({list(self)!r})"


Sequence.register(RecordBatch)
