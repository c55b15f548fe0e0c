"""Examples by event id, oldest first: the compiled form of `kept_examples.py`, which says what it means.

Examples lie in a ring in the order in which they came. A hash table with linear probing (Knuth, 6.4, algorithms
L and R) says where in it an id is: to find one takes a cache miss or two, where a dictionary asks the string of
each other id that it meets on the way. What leaves soon is fetched into the cache before it does.

A snapshot has them in MessagePack. Whatever has no short form here is left to `pack`; the bytes are the same
either way.
"""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.mem cimport PyMem_Calloc, PyMem_Free, PyMem_Malloc
from cpython.object cimport PyObject
from cpython.ref cimport Py_DECREF, Py_INCREF
from libc.stdint cimport uint64_t
from libc.string cimport memcpy

from perceptron_core.weights.feature_array cimport FeatureArray
from perceptron_core.weights.values cimport NamedValues
from perceptron_core.weights.object_access cimport ask_for, fingerprint, is_same_string
from service.partition.examples cimport Example

from collections.abc import ItemsView, KeysView, Mapping, ValuesView

from perceptron_core.formats.packed import pack

cdef enum:
    FIRST_BITS = 6  # of the number of places in the ring
    SPARE_BITS = 1  # slots are twice as many
    MOST_BITS = 30
    SOON = 4  # examples before it leaves, what one refers to is asked for; twice as many, the example itself

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
    FIELDS = 9  # of an example, with its id; keys, whether it is provisional, decision and weight follow where needed
    MOST_TEXT = 31  # characters of which the first byte says the number
    MOST_ENTRIES = 15  # of an array or a map, likewise
    NUMBER_BYTES = 9
    NIL = 0xC0
    NO = 0xC2
    YES = 0xC3


# Ids are strings, and what an example refers to is plain: the garbage collector need not see it.
@cython.final
@cython.no_gc
cdef class KeptExamples:
    """A mapping that examples leave in the order in which they came."""

    def __cinit__(self):
        self._ring_mask = (1 << FIRST_BITS) // 2 - 1
        self._grow()

    def __init__(self, examples=()):
        for event_id, example in dict(examples).items():
            self.add(event_id, example)

    def __dealloc__(self):
        while self.n:
            self.drop_oldest()
        PyMem_Free(self._ring)
        PyMem_Free(self._slots)

    def __len__(self):
        return self.n

    def __iter__(self):
        return iter([<object>self.at(k).event_id for k in range(self.n)])

    def __contains__(self, event_id):
        return self.find(event_id) is not None

    def __getitem__(self, event_id):
        found = self.find(event_id)
        if found is None:
            raise KeyError(event_id)
        return found

    def keys(self):
        """Return the ids, oldest first."""
        return KeysView(self)

    def values(self):
        """Return the examples, oldest first."""
        return ValuesView(self)

    def items(self):
        """Return (id, example), oldest first."""
        return ItemsView(self)

    cpdef get(self, str event_id, default=None):
        """Return the example of an event; `default` if there is none."""
        cdef Example found = self.find(event_id)
        return default if found is None else found

    cpdef add(self, str event_id, Example example):
        """Add the example of an event that has none here, as the newest one."""
        cdef unsigned int print_of_id = fingerprint(<PyObject*>event_id)
        cdef Kept* kept
        if <size_t>self.n > self._ring_mask:
            self._grow()
        kept = self.at(self.n)
        Py_INCREF(event_id)
        Py_INCREF(example)
        kept.event_id, kept.example = <PyObject*>event_id, <PyObject*>example
        kept.timestamp_ms, kept.fingerprint = example.timestamp_ms, print_of_id
        example.event_id = event_id
        self._enter(self._first + self.n & self._ring_mask)
        self.n += 1

    cpdef str oldest_id(self):
        """Return the event id of the oldest example; there must be one."""
        return <str>self.at(0).event_id

    cpdef Example oldest(self):
        """Return the oldest example; there must be one."""
        return <Example>self.at(0).example

    cpdef long long oldest_ms(self):
        """Return the event time of the oldest example; there must be one."""
        return self.at(0).timestamp_ms

    cpdef drop_oldest(self):
        """Drop the oldest example; there must be one."""
        cdef Kept kept = self.at(0)[0]
        self._leave(self._first)
        self._first = self._first + 1 & self._ring_mask
        self.n -= 1
        self._prefetch()
        Py_DECREF(<object>kept.event_id)
        Py_DECREF(<object>kept.example)

    cdef Kept* at(self, Py_ssize_t place) noexcept:
        """Return an example by its place, counted from the oldest one."""
        return &self._ring[self._first + place & self._ring_mask]

    cdef Example find(self, str event_id):
        """Return the example of an event; None if there is none."""
        cdef unsigned int sought
        cdef size_t k
        cdef Kept* kept
        if event_id is None:
            return None
        sought = fingerprint(<PyObject*>event_id)
        k = sought >> self._shift
        while self._slots[k].place:
            if self._slots[k].fingerprint == sought:
                kept = &self._ring[self._slots[k].place - 1]
                if is_same_string(<PyObject*>event_id, kept.event_id):
                    return <Example>kept.example
            k = k + 1 & self._slot_mask
        return None

    cdef void _prefetch(self) noexcept:
        """Ask for the memory of those that leave soon."""
        cdef Kept* kept
        if self.n > 2 * SOON:
            kept = self.at(2 * SOON)
            ask_for(kept.event_id)
            ask_for(kept.example)
            ask_for(&self._slots[kept.fingerprint >> self._shift])
            ask_for(<void*>(<Example>self.at(SOON).example).kept)

    cdef void _enter(self, size_t place) noexcept:
        """Note in the table where in the ring an id is."""
        cdef unsigned int print_of_id = self._ring[place].fingerprint
        cdef size_t k = print_of_id >> self._shift
        while self._slots[k].place:
            k = k + 1 & self._slot_mask
        self._slots[k].fingerprint, self._slots[k].place = print_of_id, <unsigned int>place + 1

    cdef void _leave(self, size_t place) noexcept:
        """Take a place of the ring out of the table; those that it kept from their home move up."""
        cdef size_t hole = self._ring[place].fingerprint >> self._shift, k, home
        while self._slots[hole].place != place + 1:
            hole = hole + 1 & self._slot_mask
        k = hole
        while True:
            k = k + 1 & self._slot_mask
            if not self._slots[k].place:
                break
            home = self._slots[k].fingerprint >> self._shift
            if (k - home & self._slot_mask) >= (k - hole & self._slot_mask):
                self._slots[hole] = self._slots[k]
                hole = k
        self._slots[hole].place = 0

    cdef int _grow(self) except -1:
        """Double the ring and the table."""
        cdef size_t n_places = 2 * (self._ring_mask + 1), n_slots = n_places << SPARE_BITS, k
        cdef Kept* ring
        cdef Slot* slots
        if n_places > 1 << MOST_BITS:
            raise MemoryError
        ring, slots = <Kept*>PyMem_Malloc(n_places * sizeof(Kept)), <Slot*>PyMem_Calloc(n_slots, sizeof(Slot))
        if ring == NULL or slots == NULL:
            PyMem_Free(ring)
            PyMem_Free(slots)
            raise MemoryError
        for k in range(<size_t>self.n):
            ring[k] = self.at(k)[0]
        PyMem_Free(self._ring)
        PyMem_Free(self._slots)
        self._ring, self._slots, self._first = ring, slots, 0
        self._ring_mask, self._slot_mask = n_places - 1, n_slots - 1
        self._shift = _shift_of(n_slots)
        for k in range(<size_t>self.n):
            self._enter(k)
        return 0


Mapping.register(KeptExamples)


cdef int _shift_of(size_t n_slots) noexcept:
    """Return how many bits of a fingerprint are left out to get one of so many slots."""
    cdef int shift = 32
    while n_slots > 1:
        n_slots >>= 1
        shift -= 1
    return shift


def freeze_examples(KeptExamples kept, Py_ssize_t start=0):
    """Copy the examples from a place on, oldest first; what they refer to does not change."""
    cdef list copies = []
    cdef Example old, new
    cdef Py_ssize_t k
    for k in range(start, kept.n):
        old, new = <Example>kept.at(k).example, Example.__new__(Example)
        new.event_id, new.kept, new.predicted, new.score = old.event_id, old.kept, old.predicted, old.score
        new.timestamp_ms, new.truth, new.step = old.timestamp_ms, old.truth, old.step
        new.message_bytes, new.trace = old.message_bytes, old.trace
        new.keys, new.is_provisional, new.decision = old.keys, old.is_provisional, old.decision
        new.weight = old.weight
        copies.append(new)
    return copies


def pack_examples(list examples):
    """Write [id, *fields] of each example, in order, as one MessagePack array; yield its pieces."""
    cdef Packer packer = Packer()
    cdef Example example
    packer.head(len(examples), 0x90, 0xDC)
    for example in examples:
        packer.row(example.event_id, example)
        if packer.pieces:
            yield from packer.pieces
            packer.pieces = []
    packer.flush()
    yield from packer.pieces


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
        cdef bint has_weight = example.weight != 1.0
        cdef bint has_decision = has_weight or example.decision is not None
        cdef bint has_more = has_decision or example.is_provisional
        cdef bint has_keys = has_more or len(example.keys) > 0
        self.head(FIELDS + has_keys + has_more + has_decision + has_weight, 0x90, 0xDC)
        self.text(event_id)
        self.features(example.kept)
        self.any(example.predicted)
        self.number(example.score)
        self.whole(example.timestamp_ms)
        self.any(example.truth)
        self.any(example.step)
        self.whole(example.message_bytes)
        self.any(example.trace)
        if has_keys:
            self.any(example.keys)
        if has_more:
            self.any(True if example.is_provisional else False)
        if has_decision:
            self.any(None) if example.decision is None else self.text(example.decision)
        if has_weight:
            self.number(example.weight)

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
