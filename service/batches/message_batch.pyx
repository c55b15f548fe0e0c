"""Records or outputs in bulk: the compiled form of `message_batch.py`, which says what it means."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_Check, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.mem cimport PyMem_Free, PyMem_Realloc

from collections.abc import Sequence

NO_TIME = -(2**62)

# Bytes of the first block of a batch, and of its largest, unless a message needs more.
cdef enum:
    FIRST_BLOCK = 1024
    LARGEST_BLOCK = 262_144


cdef class MessageBatch:
    """Records or outputs, in their order."""

    def __cinit__(self):
        self.topics, self._headers, self._blocks, self._shared = [], [], [], {}
        self._block_size = FIRST_BLOCK

    def __init__(self, messages=()):
        self.extend(messages)

    def __dealloc__(self):
        PyMem_Free(self.entries)

    cdef unsigned char* room(self, Py_ssize_t size) except NULL:
        """Allocate `size` bytes that live as long as the batch."""
        cdef bytes block
        cdef unsigned char* at
        if size >= self._n_free:
            block = PyBytes_FromStringAndSize(NULL, max(size + 1, self._block_size))
            self._blocks.append(block)
            self._free, self._n_free = <unsigned char*>PyBytes_AS_STRING(block), PyBytes_GET_SIZE(block)
            self._block_size = min(2 * self._block_size, LARGEST_BLOCK)
        at = self._free
        self._free += size
        self._n_free -= size
        return at

    cdef void give_back(self, Py_ssize_t size) noexcept:
        """Release `size` unused bytes at the end of the last allocation."""
        self._free -= size
        self._n_free += size

    cdef Entry* put(self, topic, tuple headers) except NULL:
        """Add a message without key, value, partition and time; the next `put` may move it."""
        cdef Entry* entry
        cdef int place = self.entries[self.n - 1].topic if self.n else 0
        if not self.n or self.topics[place] is not topic:  # else that of the message before, as of most
            place = self._topic_place(topic)
        if self.n == self._capacity:
            self._reserve(1)
        entry = &self.entries[self.n]
        entry.key = entry.value = NULL
        entry.key_size = entry.value_size = 0
        entry.offset, entry.timestamp_ms = 0, NO_TIME
        entry.topic, entry.partition, entry.headers = place, NO_PARTITION, NO_HEADERS
        if headers:
            entry.headers = len(self._headers)
            self._headers.append(headers)
        self.n += 1
        return entry

    cdef Entry* put_bytes(self, topic, key, value, tuple headers) except NULL:
        """Add a message; the batch keeps references to its key and value: bytes, of a subclass too, or None."""
        cdef Entry* entry
        _check_bytes(key)
        _check_bytes(value)
        entry = self.put(topic, headers)
        if key is not None:
            self._blocks.append(key)
            entry.key, entry.key_size = <const unsigned char*>PyBytes_AS_STRING(key), PyBytes_GET_SIZE(key)
        if value is not None:
            self._blocks.append(value)
            entry.value, entry.value_size = <const unsigned char*>PyBytes_AS_STRING(value), PyBytes_GET_SIZE(value)
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
        """Add messages of a batch whose memory is shared already."""
        cdef Py_ssize_t k
        cdef Entry* entry
        cdef int topic = -1, place = -1
        self._reserve(count)
        for k in range(count):
            entry = &self.entries[self.n]
            entry[0] = other.entries[start + k * step]
            if entry.topic != topic:
                topic = entry.topic
                place = self._topic_place(other.topics[topic])
            entry.topic = place
            if entry.headers != NO_HEADERS:
                self._headers.append(other._headers[entry.headers])
                entry.headers = len(self._headers) - 1
            self.n += 1
        return 0

    cdef object message(self, Py_ssize_t place):
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

    cdef int _topic_place(self, topic) except -1:
        """Return the index of a topic in `topics`, and add it if it is missing."""
        cdef int place = 0
        for known in self.topics:
            if known is topic:
                return place
            place += 1
        if topic in self.topics:
            return self.topics.index(topic)
        self.topics.append(topic)
        return place

    def append(self, message):
        """Add a record or an output."""
        raise NotImplementedError

    def extend(self, messages):
        """Add records or outputs; those of a batch share its memory."""
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

    def __getitem__(self, place):
        cdef MessageBatch part
        cdef Py_ssize_t k
        if isinstance(place, slice):
            chosen = range(*place.indices(self.n))
            part = type(self)()
            part.take(self, chosen.start, len(chosen), chosen.step)
            return part
        k = place
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


cdef object bytes_at(const unsigned char* data, Py_ssize_t size):
    """Copy a key or a value to a bytes object; return None for NULL."""
    return None if data == NULL else PyBytes_FromStringAndSize(<const char*>data, size)


cdef inline int _check_bytes(part) except -1:
    """Refuse what is neither bytes nor None. (A variable of Cython's type `bytes` takes no subclass.)"""
    if part is not None and not PyBytes_Check(part):
        raise TypeError(f"a message is of bytes, not of {type(part).__name__}")
    return 0


Sequence.register(MessageBatch)
