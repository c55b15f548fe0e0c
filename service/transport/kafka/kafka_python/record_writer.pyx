"""Write Kafka batches: the compiled form of `record_writer.py`, which says what it means."""

cimport cython
from cpython.bytearray cimport PyByteArray_AS_STRING, PyByteArray_GET_SIZE, PyByteArray_Resize
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.string cimport memcpy

from kafka.errors import MessageSizeTooLargeError, UnknownTopicOrPartitionError

from service.batches cimport NO_TIME, Entry
from service.batches cimport OutputBatch
from service.partitioner cimport partition_of_key

cdef enum:
    _LENGTH_BYTES = 10
    _ROOM = 64
    _HEADER_BYTES = 61
    _FRAME_BYTES = 21
    _FIRST_BYTES = 16_384
cdef long long _FAR = 1LL << 61
cdef bytes _NO_HEADERS = b"\0"


def written_batches(outputs, n_partitions, *, Py_ssize_t batch_bytes, Py_ssize_t most_bytes, long long now_ms):
    """Write outputs into batches, in order within each partition; return (partition, writer) of each."""
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
            raise UnknownTopicOrPartitionError(f"{batch.topics[entry.topic]} has no partition {partition}")
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
        cdef long long timestamp = self._now_ms if entry.timestamp_ms == NO_TIME else entry.timestamp_ms
        cdef Py_ssize_t n_key = 0 if entry.key is NULL else entry.key_size
        cdef Py_ssize_t n_value = 0 if entry.value is NULL else entry.value_size
        cdef Py_ssize_t n_tail = PyBytes_GET_SIZE(tail)
        cdef unsigned char* numbers = self._numbers
        cdef unsigned char* to
        cdef Py_ssize_t at, frame, front, middle, contents, length, begin, needed
        if not -_FAR < timestamp < _FAR:
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
