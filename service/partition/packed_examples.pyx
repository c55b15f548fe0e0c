"""Kept examples as MessagePack: the compiled form of `packed_examples.py`, which says what it means.

Everything that has no short form here is left to `pack`; the bytes are the same either way.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from libc.stdint cimport uint64_t
from libc.string cimport memcpy

from perceptron_core.weights.feature_array cimport FeatureArray
from perceptron_core.weights.named_values cimport NamedValues
from service.partition.example cimport Example
from service.partition.kept_examples cimport Kept, KeptExamples

from perceptron_core.formats.model_bytes import pack

cdef extern from *:
    """
    /* The characters of a text of ASCII, and their number; NULL for others. */
    static const char* perceptron_ascii(PyObject* text, Py_ssize_t* size) {
        if (!PyUnicode_IS_COMPACT_ASCII(text)) return NULL;
        *size = PyUnicode_GET_LENGTH(text);
        return (const char*)PyUnicode_1BYTE_DATA(text);
    }
    """
    const char* perceptron_ascii(str text, Py_ssize_t* size) noexcept

cdef bytes _NO_BYTES = pack(b"")
cdef enum:
    PIECE_BYTES = 262_144
    FIELDS = 9  # of an example, with its id
    MOST_TEXT = 31  # characters of which the first byte says the number
    MOST_ENTRIES = 15  # of an array or a map, likewise
    NUMBER_BYTES = 9
    NIL = 0xC0
    NO = 0xC2
    YES = 0xC3


def pack_examples(examples):
    """Write [id, *fields] of each example, in order, as one MessagePack array; return its pieces."""
    cdef Packer packer = Packer()
    cdef KeptExamples kept
    cdef Kept* each
    cdef Py_ssize_t k
    packer.head(len(examples), 0x90, 0xDC)
    kept = examples if isinstance(examples, KeptExamples) else KeptExamples(examples)
    for k in range(kept.n):
        each = kept.at(k)
        packer.row(<str>each.event_id, <Example>each.example)
    packer.flush()
    return packer.pieces


cdef class Packer:
    """Writes MessagePack into pieces."""

    def __cinit__(self):
        self.pieces, self._names, self._packed_names = [], (), []
        self._start = self._at = <unsigned char*>PyMem_Malloc(PIECE_BYTES)
        if self._start == NULL:
            raise MemoryError
        self._end = self._start + PIECE_BYTES

    def __dealloc__(self):
        PyMem_Free(self._start)

    cdef unsigned char* room(self, Py_ssize_t size) except NULL:
        """Return memory for so many bytes, at most a piece."""
        cdef unsigned char* at
        if size > self._end - self._at:
            self.flush()
        at = self._at
        self._at += size
        return at

    cdef flush(self):
        """End the piece that was begun."""
        self.pieces.append(PyBytes_FromStringAndSize(<char*>self._start, self._at - self._start))
        self._at = self._start

    cdef row(self, str event_id, Example example):
        """Write an example; `fields_of` names its fields in this order."""
        self.head(FIELDS, 0x90, 0xDC)
        self.text(event_id)
        self.features(example.kept)
        self.any(example.predicted)
        self.number(example.score)
        self.whole(example.timestamp_ms)
        self.any(example.truth)
        self.any(example.step)
        self.whole(example.message_bytes)
        self.any(example.trace)

    cdef features(self, kept):
        """Write features; their names are packed once for all examples that share them."""
        cdef NamedValues named
        cdef Py_ssize_t k
        if type(kept) is not NamedValues:
            self.any((<FeatureArray>kept).as_dict() if isinstance(kept, FeatureArray) else kept)
            return
        named = <NamedValues>kept
        if named.names is not self._names:
            self._names, self._packed_names = named.names, [pack(name) for name in named.names]
        self.head(named.n, 0x80, 0xDE)
        for k in range(named.n):
            self.raw(<bytes>self._packed_names[k])
            self.number(named.numbers[k])

    cdef head(self, Py_ssize_t n, unsigned char few, unsigned char many):
        """Write how many entries an array or a map has; the codes are those of few entries and of more."""
        cdef Py_ssize_t width = 0 if n <= MOST_ENTRIES else 2 if n <= 0xFFFF else 4
        cdef unsigned char* at = self.room(1 + width)
        at[0] = few | n if width == 0 else many if width == 2 else many + 1
        _big_endian(at + 1, n, width)

    cdef any(self, value):
        """Write a plain value."""
        if value is None or value is True or value is False:
            self.room(1)[0] = NIL if value is None else YES if value is True else NO
        elif type(value) is float:
            self.number(value)
        elif type(value) is bytes and not value:
            self.raw(_NO_BYTES)
        else:
            self.raw(pack(value))

    cdef text(self, str text):
        """Write a text."""
        cdef Py_ssize_t size = 0
        cdef const char* characters = perceptron_ascii(text, &size)
        cdef unsigned char* at
        if characters == NULL or size > MOST_TEXT:
            self.raw(pack(text))
            return
        at = self.room(1 + size)
        at[0] = 0xA0 | size
        memcpy(at + 1, characters, size)

    cdef number(self, double number):
        """Write a double."""
        cdef uint64_t bits
        cdef unsigned char* at = self.room(NUMBER_BYTES)
        memcpy(&bits, &number, sizeof(bits))
        at[0] = 0xCB
        _big_endian(at + 1, bits, sizeof(bits))

    cdef whole(self, long long number):
        """Write a whole number in as few bytes as hold it."""
        cdef int power
        cdef unsigned char* at
        if number < 0:
            self.raw(pack(number))
        elif number < 0x80:
            self.room(1)[0] = <unsigned char>number
        else:
            power = 0 if number <= 0xFF else 1 if number <= 0xFFFF else 2 if number <= 0xFFFF_FFFF else 3
            at = self.room(1 + (1 << power))
            at[0] = 0xCC + power
            _big_endian(at + 1, number, 1 << power)

    cdef raw(self, bytes packed):
        """Write what is packed already."""
        cdef Py_ssize_t size = PyBytes_GET_SIZE(packed)
        if size > PIECE_BYTES:
            self.flush()
            self.pieces.append(packed)
            return
        memcpy(self.room(size), PyBytes_AS_STRING(packed), size)


cdef inline void _big_endian(unsigned char* at, uint64_t number, Py_ssize_t width) noexcept:
    """Write a number in so many bytes, the first of which counts most."""
    cdef Py_ssize_t k
    for k in range(width):
        at[k] = <unsigned char>(number >> 8 * (width - 1 - k))
