"""Read and write the records of Kafka batches in format 2, without a Python object for each.

The format is described under "Message Format" in Apache Kafka's documentation. Malformed records are left to
kafka-python's reader.
"""

cimport cython
from cpython.bytearray cimport PyByteArray_AS_STRING, PyByteArray_GET_SIZE, PyByteArray_Resize
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.string cimport memcpy

from kafka.errors import MessageSizeTooLargeError, StaleMetadata

from service.batches cimport Entry, NO_TIME, OutputBatch, RecordBatch
from service.partitioner cimport partition_of_key

cdef enum:
    _VARINT_BITS = 63
    # Where the numbers of a record begin behind room for its length, and how much room they need.
    _LENGTH_BYTES = 10
    _ROOM = 64
    # The header of a batch; the largest size of a record's length, attributes, timestamp and offset.
    _HEADER_BYTES = 61
    _FRAME_BYTES = 21
    _FIRST_BYTES = 16_384
# Offsets and timestamps from here on are left to kafka-python when they are read, and refused when they are
# written: sums and differences of smaller ones fit in 64 bits, and in 63 when written.
cdef long long _FAR_READ = 1LL << 62
cdef long long _FAR_WRITTEN = 1LL << 61
cdef bytes _NO_HEADERS = b"\0"


@cython.final
cdef class RecordReader:
    """Reads the records of one batch, up to the first malformed one.

    Parameters
    ----------
    data
        The bytes of the batch.
    at
        Position of the first record; later, of the next one.
    topic, partition
        The partition that the batch was read from.
    base_offset
        The offset that those of the records are relative to.
    timestamp_ms, has_append_time
        The timestamp that those of the records are relative to; with `has_append_time`, the broker's one,
        which all records have.

    """

    cdef const unsigned char[::1] _owner
    cdef const unsigned char* _data
    cdef Py_ssize_t _end
    cdef readonly Py_ssize_t at
    cdef object _topic
    cdef int _partition
    cdef long long _base_offset
    cdef long long _timestamp_ms
    cdef bint _has_append_time

    def __cinit__(
        self, data, Py_ssize_t at, topic, int partition, *, base_offset, timestamp_ms, bint has_append_time
    ):
        cdef bint is_near = abs(base_offset) < _FAR_READ and abs(timestamp_ms) < _FAR_READ
        self._owner = data
        self._data = &self._owner[0] if len(self._owner) else NULL
        self._end = len(self._owner) if is_near else 0
        self.at = at
        self._topic = topic
        self._partition = partition
        self._base_offset = base_offset if is_near else 0
        self._timestamp_ms = timestamp_ms if is_near else 0
        self._has_append_time = has_append_time

    cpdef Py_ssize_t read(self, RecordBatch records, Py_ssize_t count, long long first_offset) except? -1:
        """Read up to `count` records, and append those from `first_offset` on; return how many were read.

        They are fewer if one is malformed: `at` is then its position.
        """
        cdef Py_ssize_t n_read, at
        cdef long long end
        for n_read in range(count):
            at = self.at
            end = self._varint()
            end += self.at
            if not self._read_one(records, end, first_offset):
                self.at = at
                return n_read
        return count

    cdef bint _read_one(self, RecordBatch records, long long end, long long first_offset) except -1:
        """Read the record after its length; return False if it is malformed."""
        cdef long long timestamp, offset, n_headers, key_size, value_size
        cdef const unsigned char* key
        cdef const unsigned char* value
        cdef tuple headers = ()
        self._varint()  # attributes, of which there are none yet
        timestamp = self._varint()
        timestamp = self._timestamp_ms if self._has_append_time else self._timestamp_ms + timestamp
        offset = self._varint() + self._base_offset
        key_size = self._varint()
        key = self._bytes(key_size)
        value_size = self._varint()
        value = self._bytes(value_size)
        n_headers = self._varint()
        if n_headers:
            try:
                headers = self._headers(n_headers)
            except UnicodeDecodeError:
                return False
        if self.at != end or end > self._end:
            return False
        if offset >= first_offset:
            records.add(
                self._topic, self._partition, offset, timestamp, key, key_size, value, value_size, headers
            )
        return True

    cdef tuple _headers(self, long long count):
        cdef long long length
        cdef const unsigned char* part
        cdef list headers = []
        if count < 0:
            self.at = self._end + 1
        while count > 0 and self.at < self._end:
            length = self._varint()
            part = self._bytes(length)
            if part is NULL:
                self.at = self._end + 1
                break
            name = PyUnicode_DecodeUTF8(<const char*>part, length, NULL)
            length = self._varint()
            part = self._bytes(length)
            headers.append((name, b"" if part is NULL else part[:length]))
            count -= 1
        if count > 0:
            self.at = self._end + 1
        return tuple(headers)

    cdef inline const unsigned char* _bytes(self, long long length) noexcept:
        """Skip `length` bytes and return a pointer to them; NULL if it is negative or fewer are left."""
        cdef const unsigned char* found
        if length < 0:
            return NULL
        if length > self._end - self.at:
            self.at = self._end + 1
            return NULL
        found = self._data + self.at
        self.at += length
        return found

    cdef inline long long _varint(self) noexcept:
        cdef unsigned long long result = 0, byte
        cdef int shift = 0
        while self.at < self._end and shift < _VARINT_BITS:
            byte = self._data[self.at]
            self.at += 1
            result |= (byte & 0x7F) << shift
            if byte < 0x80:
                return <long long>((result >> 1) ^ (0 - (result & 1)))
            shift += 7
        self.at = self._end + 1
        return -1


def written_batches(outputs, n_partitions, *, Py_ssize_t batch_bytes, Py_ssize_t most_bytes, long long now_ms):
    """Write outputs into batches, in order within each partition; return (partition, writer) of each.

    Parameters
    ----------
    outputs
        The records; `partition_for_key` chooses the partitions of those that have none.
    n_partitions
        Counts a topic's partitions.
    batch_bytes, most_bytes
        Largest size of a batch of several records, and of a batch of one record.
    now_ms
        Timestamp of records that have none.

    Raises
    ------
    MessageSizeTooLargeError
        A record is too large for a batch of its own.
    OverflowError
        A timestamp is out of range.
    StaleMetadata
        An output names a partition that its topic does not have, as far as is known here.

    """
    cdef OutputBatch batch = outputs if isinstance(outputs, OutputBatch) else OutputBatch(outputs)
    cdef list written = [], open_writers = [None] * len(batch.topics)
    cdef list of_topic
    cdef Entry* entry
    cdef RecordWriter writer
    cdef Py_ssize_t number, partition
    cdef bytes tail
    for number in range(batch.n):
        entry = batch.entries + number
        if open_writers[entry.topic] is None:
            open_writers[entry.topic] = [None] * n_partitions(batch.topics[entry.topic])
        of_topic = <list>open_writers[entry.topic]
        partition = _partition(entry, len(of_topic))
        if partition >= len(of_topic):
            raise StaleMetadata(f"{batch.topics[entry.topic]} has no partition {partition} yet")
        tail = _headers(batch.headers_of(entry)) if entry.headers >= 0 else _NO_HEADERS
        writer = <RecordWriter>of_topic[partition]
        if writer is None or not writer._write(entry, tail):
            writer = RecordWriter(batch_bytes, most_bytes, now_ms)
            writer._write(entry, tail)
            of_topic[partition] = writer
            written.append(((batch.topics[entry.topic], partition), writer))
    for _, writer in written:
        writer._close()
    return written


cdef Py_ssize_t _partition(Entry* entry, Py_ssize_t partitions) noexcept:
    if entry.partition >= 0:
        return entry.partition
    return 0 if entry.key is NULL else partition_of_key(entry.key, entry.key_size, partitions)


@cython.final
cdef class RecordWriter:
    """Writes the records of one batch: space for its header, then the records; and what the header needs."""

    cdef readonly bytearray buffer
    cdef readonly Py_ssize_t n_records
    cdef readonly long long first_timestamp
    cdef readonly long long max_timestamp
    cdef Py_ssize_t _size
    cdef Py_ssize_t _batch_bytes
    cdef Py_ssize_t _most_bytes
    cdef long long _now_ms
    cdef unsigned char _numbers[_ROOM]

    def __init__(self, Py_ssize_t batch_bytes, Py_ssize_t most_bytes, long long now_ms):
        self.buffer = bytearray(_FIRST_BYTES)
        self._size = _HEADER_BYTES
        self._batch_bytes = batch_bytes
        self._most_bytes = most_bytes
        self._now_ms = now_ms

    cdef bint _write(self, Entry* entry, bytes tail) except -1:
        """Write a record; return False if the batch has no room for it."""
        cdef long long timestamp = self._now_ms if entry.timestamp_ms == NO_TIME else entry.timestamp_ms
        cdef Py_ssize_t n_key = 0 if entry.key is NULL else entry.key_size
        cdef Py_ssize_t n_value = 0 if entry.value is NULL else entry.value_size
        cdef Py_ssize_t n_tail = PyBytes_GET_SIZE(tail)
        cdef unsigned char* numbers = self._numbers
        cdef unsigned char* to
        cdef Py_ssize_t at, frame, front, middle, contents, length, begin, needed
        if not -_FAR_WRITTEN < timestamp < _FAR_WRITTEN:
            raise OverflowError(f"a record's time is {timestamp} ms")
        if not self.n_records:
            self.first_timestamp = self.max_timestamp = timestamp

        numbers[_LENGTH_BYTES] = 0  # attributes, of which there are none
        at = _put(numbers, _LENGTH_BYTES + 1, timestamp - self.first_timestamp)
        frame = _put(numbers, at, self.n_records)
        front = _put(numbers, frame, -1 if entry.key is NULL else n_key)
        middle = _put(numbers, front, -1 if entry.value is NULL else n_value)
        contents = middle - frame + n_key + n_value + n_tail
        if _HEADER_BYTES + _FRAME_BYTES + contents > self._most_bytes:
            raise MessageSizeTooLargeError(f"more than {self._most_bytes} bytes")
        length = frame - _LENGTH_BYTES + contents
        begin = _LENGTH_BYTES - (_put(numbers, middle, length) - middle)
        needed = self._size + length + _LENGTH_BYTES - begin
        if self.n_records and needed > self._batch_bytes:
            return False
        _put(numbers, begin, length)

        if needed > PyByteArray_GET_SIZE(self.buffer):
            PyByteArray_Resize(self.buffer, max(needed, 2 * PyByteArray_GET_SIZE(self.buffer)))
        to = <unsigned char*>PyByteArray_AS_STRING(self.buffer) + self._size
        to = _copy(to, numbers + begin, front - begin)
        to = _copy(to, entry.key, n_key)
        to = _copy(to, numbers + front, middle - front)
        to = _copy(to, entry.value, n_value)
        _copy(to, <const unsigned char*>PyBytes_AS_STRING(tail), n_tail)
        self._size = needed
        self.n_records += 1
        self.max_timestamp = max(self.max_timestamp, timestamp)
        return True

    cdef int _close(self) except -1:
        """Truncate the buffer to the records written."""
        PyByteArray_Resize(self.buffer, self._size)
        return 0


cdef unsigned char* _copy(unsigned char* to, const unsigned char* part, Py_ssize_t size) noexcept:
    if size:
        memcpy(to, part, size)
    return to + size


cdef bytes _headers(tuple headers):
    cdef unsigned char numbers[_ROOM]
    cdef bytearray written = bytearray()
    cdef bytes encoded, value
    cdef str name
    written += numbers[: _put(numbers, 0, len(headers))]
    for name, value in headers:
        encoded = name.encode()
        written += numbers[: _put(numbers, 0, len(encoded))]
        written += encoded
        written += numbers[: _put(numbers, 0, len(value))]
        written += value
    return bytes(written)


cdef Py_ssize_t _put(unsigned char* numbers, Py_ssize_t at, long long number) noexcept:
    """Write an integer as a zigzag-encoded varint; return the position after it."""
    cdef unsigned long long left = (<unsigned long long>number << 1) ^ <unsigned long long>(number >> 63)
    while left >= 0x80:
        numbers[at] = left & 0x7F | 0x80
        left >>= 7
        at += 1
    numbers[at] = <unsigned char>left
    return at + 1
