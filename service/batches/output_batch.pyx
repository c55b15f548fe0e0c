"""Records to be written: the compiled form of `output_batch.py`, which says what it means."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.mem cimport PyMem_Free, PyMem_Realloc

from collections.abc import Sequence

from service.records import Output

cdef object _new = tuple.__new__
NO_TIME = -(2**62)

# Bytes of the first block of a batch, and of its largest, unless an output needs more.
cdef enum:
    FIRST_BLOCK = 1024
    LARGEST_BLOCK = 262_144


cdef class OutputBatch:
    """Records to be written, in their order."""

    def __cinit__(self):
        self.topics, self._headers, self._blocks, self._kept = [], [], [], []

    def __init__(self, outputs=()):
        self.extend(outputs)

    def __dealloc__(self):
        PyMem_Free(self.entries)

    cdef unsigned char* room(self, Py_ssize_t size) except NULL:
        """Return memory of so many bytes, which stays as long as the batch."""
        cdef bytes block
        cdef unsigned char* at
        if size >= self._n_free:
            block = PyBytes_FromStringAndSize(
                NULL, max(size + 1, min(FIRST_BLOCK << min(len(self._blocks), 8), LARGEST_BLOCK))
            )
            self._blocks.append(block)
            self._free, self._n_free = <unsigned char*>PyBytes_AS_STRING(block), PyBytes_GET_SIZE(block)
        at = self._free
        self._free += size
        self._n_free -= size
        return at

    cdef void give_back(self, Py_ssize_t size) noexcept:
        """Take so many bytes back from the end of the room that was given last."""
        self._free -= size
        self._n_free += size

    cdef OutputEntry* put(self, topic) except NULL:
        """Add an output without key, value, headers, partition and time; the next `put` may move it."""
        cdef Py_ssize_t capacity
        cdef OutputEntry* entries = self.entries
        cdef int place = 0
        if self.n == self._capacity:
            capacity = 2 * self._capacity + 16
            entries = <OutputEntry*>PyMem_Realloc(self.entries, capacity * sizeof(OutputEntry))
            if entries == NULL:
                raise MemoryError
            self.entries, self._capacity = entries, capacity
        for known in self.topics:
            if known is topic:
                break
            place += 1
        else:
            if topic in self.topics:
                place = self.topics.index(topic)
            else:
                self.topics.append(topic)
        entries = &self.entries[self.n]
        entries.key = entries.value = NULL
        entries.key_size = entries.value_size = 0
        entries.timestamp_ms = NO_TIME
        entries.topic, entries.partition, entries.headers = place, NO_PARTITION, NO_HEADERS
        self.n += 1
        return entries

    cdef const unsigned char* _held(self, bytes data) except? NULL:
        """Return where bytes lie, which are kept; NULL for None."""
        if data is None:
            return NULL
        self._kept.append(data)
        return <const unsigned char*>PyBytes_AS_STRING(data)

    cdef object output(self, Py_ssize_t place):
        """Make the output of this place, which must be there."""
        cdef OutputEntry* entry = &self.entries[place]
        fields = (
            self.topics[entry.topic],
            None if entry.key == NULL else PyBytes_FromStringAndSize(<const char*>entry.key, entry.key_size),
            None if entry.value == NULL else PyBytes_FromStringAndSize(<const char*>entry.value, entry.value_size),
            self.headers_of(entry),
            None if entry.partition == NO_PARTITION else entry.partition,
            None if entry.timestamp_ms == NO_TIME else entry.timestamp_ms,
        )
        return _new(Output, fields)

    cdef object headers_of(self, const OutputEntry* entry):
        """Return the headers of an entry."""
        return self._headers[entry.headers] if entry.headers != NO_HEADERS else ()

    def append(self, output):
        """Add an output."""
        cdef bytes key, value
        topic, key, value, headers, partition, timestamp_ms = output
        cdef const unsigned char* key_at = self._held(key)
        cdef const unsigned char* value_at = self._held(value)
        cdef long long time = NO_TIME if timestamp_ms is None else timestamp_ms
        cdef int to = NO_PARTITION if partition is None else partition
        cdef OutputEntry* entry = self.put(topic)
        if key is not None:
            entry.key, entry.key_size = key_at, PyBytes_GET_SIZE(key)
        if value is not None:
            entry.value, entry.value_size = value_at, PyBytes_GET_SIZE(value)
        entry.timestamp_ms, entry.partition = time, to
        if headers:
            entry.headers = len(self._headers)
            self._headers.append(headers)

    def extend(self, outputs):
        """Add outputs; those of a batch share its memory."""
        if isinstance(outputs, OutputBatch):
            self.take(outputs, 0, (<OutputBatch>outputs).n, 1)
            return
        for output in outputs:
            self.append(output)

    cdef take(self, OutputBatch other, Py_ssize_t start, Py_ssize_t end, Py_ssize_t step):
        """Add outputs of another batch, whose memory they share."""
        cdef Py_ssize_t k
        cdef OutputEntry* entry
        cdef OutputEntry* found
        if other is not self:
            self._kept.append((other._blocks, other._kept))
        for k in range(start, end, step):
            entry = self.put(other.topics[other.entries[k].topic])
            found = &other.entries[k]
            entry.key, entry.key_size = found.key, found.key_size
            entry.value, entry.value_size = found.value, found.value_size
            entry.timestamp_ms, entry.partition = found.timestamp_ms, found.partition
            if found.headers != NO_HEADERS:
                entry.headers = len(self._headers)
                self._headers.append(other._headers[found.headers])

    def __iadd__(self, outputs):
        self.extend(outputs)
        return self

    def __len__(self):
        return self.n

    def __getitem__(self, place):
        cdef OutputBatch part
        cdef Py_ssize_t k, end, step
        if isinstance(place, slice):
            k, end, step = place.indices(self.n)
            part = OutputBatch()
            part.take(self, k, end, step)
            return part
        k = place
        if k < 0:
            k += self.n
        if not 0 <= k < self.n:
            raise IndexError("no such output")
        return self.output(k)

    def __iter__(self):
        cdef Py_ssize_t k
        for k in range(self.n):
            yield self.output(k)

    def __eq__(self, other):
        """Return whether another sequence has the same outputs."""
        if not isinstance(other, Sequence):
            return NotImplemented
        return len(other) == self.n and all(mine == its for mine, its in zip(self, other))

    __hash__ = None

    def __repr__(self):
        return f"OutputBatch({list(self)!r})"


Sequence.register(OutputBatch)
