"""Read the records of a Kafka batch: the compiled form of `record_reader.py`, which says what it means."""

cimport cython
from cpython.unicode cimport PyUnicode_DecodeUTF8

from service.batches cimport RecordBatch

cdef long long _FAR = 1LL << 62
cdef enum:
    _VARINT_BITS = 63


@cython.final
cdef class RecordReader:
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
        cdef bint is_near = abs(base_offset) < _FAR and abs(timestamp_ms) < _FAR
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

    cdef const unsigned char* _bytes(self, long long length) noexcept:
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

    cdef long long _varint(self) noexcept:
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
