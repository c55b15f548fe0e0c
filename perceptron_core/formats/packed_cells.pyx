"""Features and their numbers as MessagePack: the result of `msgpack` for a dictionary, several times as fast.

They are copied first, which takes a few milliseconds for a million. The copy is packed when it is read, in blocks;
other threads can take the GIL after each block.
"""

cimport cython
from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport uint64_t
from libc.stdlib cimport free, malloc, qsort
from libc.string cimport memcpy

import array

import msgpack

from perceptron_core.weights.example cimport Column
from perceptron_core.weights.tables cimport WeightTable

cdef extern from "Python.h":
    bint PyUnicode_IS_COMPACT_ASCII(object text)
    void* PyUnicode_DATA(object text)
    Py_ssize_t PyUnicode_GET_LENGTH(object text)

cdef enum:
    # The most that stands before a name, and what a number takes.
    HEAD_BYTES = 5
    NUMBER_BYTES = 9
    # Names in a block: the GIL is held for half a millisecond.
    BLOCK = 8192
    # Names whose mean length stands for the mean length of all.
    SAMPLE = 64

cdef enum Kind: NUMBER, TEXT, PACKED


cdef struct Name:
    Kind kind
    uint64_t number  # the length of a text
    const char* text


cdef struct Place:
    long long ordinal
    int slot


@cython.final
cdef class FrozenNames:
    """The features of a table at one moment.

    Parameters
    ----------
    names : list or None
        By slot; None: integers, the ordinals.
    ordinals : buffer of long long
        By slot: how many features came before each; negative if there is no feature.

    """
    cdef list names
    cdef const long long[::1] ordinals

    def __init__(self, list names, ordinals):
        self.names = names
        self.ordinals = memoryview(ordinals).cast("B").cast("q")

    def __del__(self):
        """Release the names a few at a time: a million would keep other threads waiting for too long."""
        if self.names is not None:
            while self.names:
                del self.names[-BLOCK:]
                with nogil:
                    pass


def freeze_names(WeightTable table):
    """Copy the features of a table whose features are not integers with fixed slots."""
    return FrozenNames(*table._index.freeze(table.n_slots))


def freeze_cells(WeightTable table, Column column, bint with_zeros, FrozenNames names):
    """Copy the cells of a column, whose features are `names`; None: integers, of which only those wanted are copied."""
    if names is None:
        return _freeze_fixed(table, column, with_zeros)
    return FrozenCells(names, memoryview(column.cells)[:table.n_slots].tobytes(), with_zeros)


cdef _freeze_fixed(WeightTable table, Column column, bint with_zeros):
    """Copy the cells of fixed slots that are not 0; with zeros, of slots with any column unlike its default."""
    cdef Column each
    cdef bytearray wanted = bytearray(table.n_slots)
    cdef unsigned char[::1] marks = wanted
    cdef double[:] cells
    cdef Py_ssize_t slot, n = 0
    cdef double unchanged
    for each in table._columns if with_zeros else [column]:
        cells, unchanged = each.cells, each.default if with_zeros else 0.0
        for slot in range(table.n_slots):
            marks[slot] |= cells[slot] != unchanged
    for slot in range(table.n_slots):
        n += marks[slot]
    cdef long long[::1] slots = array.array("q", bytes(8 * n))
    cdef double[::1] found = array.array("d", bytes(8 * n))
    cells, n = column.cells, 0
    for slot in range(table.n_slots):
        if marks[slot]:
            slots[n], found[n] = slot, cells[slot]
            n += 1
    return FrozenCells(FrozenNames(None, slots), found, True)


def freeze_changed_names(WeightTable table, list slots):
    """Copy the features of some rows, which may be dropped, in the order of the slots."""
    cdef list names = []
    cdef long long[::1] ordinals = array.array("q", bytes(8 * len(slots)))
    cdef Py_ssize_t k
    for k in range(len(slots)):
        ordinals[k] = table._index.ordinal(slots[k])
        names.append(table._index.at(slots[k]) if ordinals[k] >= 0 else None)
    return FrozenNames(names, ordinals)


def freeze_changed_cells(WeightTable table, Column column, bint with_zeros, list slots, FrozenNames names, set gaps):
    """Copy some cells of a column, whose features are `names` or, if this is None, their slots.

    Slots that are in the table but not packed are added to `gaps`.
    """
    cdef Py_ssize_t k, n = len(slots)
    cdef double[::1] found = array.array("d", bytes(8 * n))
    cdef long long[::1] kept
    cdef bint is_there
    cdef int slot
    if names is None:
        kept = array.array("q", slots)
    for k in range(n):
        slot = slots[k]
        found[k] = column.cells[slot]
        if names is None:
            is_there = table._is_changed(slot) if with_zeros else found[k] != 0
            if not is_there:
                kept[k] = -1
        else:
            is_there = with_zeros or found[k] != 0 or names.ordinals[k] < 0
        if not is_there:
            gaps.add(slot)
    return FrozenCells(FrozenNames(None, kept) if names is None else names, found, with_zeros or names is None)


@cython.final
cdef class FrozenCells:
    """The cells of a column at one moment.

    Parameters
    ----------
    names : FrozenNames
        The features.
    cells : buffer of doubles
        By slot.
    with_zeros : bool
        Whether cells that are 0 are packed.

    """
    cdef FrozenNames names
    cdef const double[::1] cells
    cdef bint with_zeros
    # The slots to be packed, in order.
    cdef int* slots

    def __init__(self, FrozenNames names, cells, bint with_zeros):
        self.names = names
        self.cells = memoryview(cells).cast("B").cast("d")
        self.with_zeros = with_zeros
        self.slots = NULL

    def __dealloc__(self):
        free(self.slots)

    @property
    def size_bytes(self):
        """Approximate packed size in bytes, from the lengths of some names."""
        cdef Py_ssize_t n_slots = self.names.ordinals.shape[0], n = 0, n_seen = 0, n_bytes = 0, slot
        for slot in range(n_slots):
            n += self.names.ordinals[slot] >= 0 and (self.with_zeros or self.cells[slot] != 0)
        if self.names.names is not None:
            for slot in range(0, n_slots, n_slots // SAMPLE + 1):
                if isinstance(self.names.names[slot], str):
                    n_bytes += len(<str>self.names.names[slot])
                    n_seen += 1
        return n * (HEAD_BYTES + NUMBER_BYTES + (n_bytes // n_seen if n_seen else 0))

    def iter_chunks(self):
        """Yield the mapping in chunks."""
        cdef Py_ssize_t n = self._choose(), start
        yield msgpack.Packer().pack_map_header(n)
        for start in range(0, n, BLOCK):
            yield self._block(start, min(n, start + BLOCK))

    cdef Py_ssize_t _choose(self) except -1:
        """Find the slots to be packed; return their number."""
        cdef const long long[::1] ordinals = self.names.ordinals
        cdef const double[::1] cells = self.cells
        cdef Py_ssize_t n_slots = ordinals.shape[0], slot, n = 0
        cdef long long last = -1
        cdef bint in_order = True
        cdef Place* places = NULL
        free(self.slots)
        self.slots = <int*>malloc(n_slots * sizeof(int) + 1)
        if self.slots == NULL:
            raise MemoryError
        with nogil:
            for slot in range(n_slots):
                if ordinals[slot] >= 0 and (self.with_zeros or cells[slot] != 0):
                    self.slots[n] = <int>slot
                    n += 1
                    in_order = in_order and ordinals[slot] > last
                    last = ordinals[slot]
            if not in_order:
                places = <Place*>malloc(n * sizeof(Place))
                if places != NULL:
                    for slot in range(n):
                        places[slot].ordinal, places[slot].slot = ordinals[self.slots[slot]], self.slots[slot]
                    qsort(places, n, sizeof(Place), _earlier)
                    for slot in range(n):
                        self.slots[slot] = places[slot].slot
                    free(places)
        if not in_order and places == NULL:
            raise MemoryError
        return n

    cdef bytes _block(self, Py_ssize_t start, Py_ssize_t end):
        """Pack the features from one place to another."""
        cdef Py_ssize_t n = end - start, k, size = 0
        cdef list kept = []
        cdef unsigned char* to = NULL
        cdef unsigned char* at = NULL
        cdef Name* names = <Name*>malloc(n * sizeof(Name))
        try:
            if names == NULL:
                raise MemoryError
            for k in range(n):
                size += self._read(self.slots[start + k], &names[k], kept)
            to = <unsigned char*>malloc(size)
            if to == NULL:
                raise MemoryError
            at = to
            with nogil:
                for k in range(n):
                    at = _write(at, &names[k], self.cells[self.slots[start + k]])
            return PyBytes_FromStringAndSize(<char*>to, at - to)
        finally:
            free(names)
            free(to)

    cdef inline Py_ssize_t _read(self, int slot, Name* into, list kept) except -1:
        """Read a name; return the most bytes that it takes with its number. It points to the list's, or to `kept`."""
        if self.names.names is None:
            into.kind, into.number = NUMBER, self.names.ordinals[slot]
            return HEAD_BYTES + NUMBER_BYTES
        name = self.names.names[slot]
        if type(name) is str and PyUnicode_IS_COMPACT_ASCII(name):
            into.kind, into.text, into.number = TEXT, <const char*>PyUnicode_DATA(name), PyUnicode_GET_LENGTH(name)
        elif type(name) is int and 0 <= name < <long long>1 << 32:
            into.kind, into.number = NUMBER, name
            return HEAD_BYTES + NUMBER_BYTES
        else:
            packed = msgpack.packb(name, unicode_errors="surrogatepass")
            kept.append(packed)
            into.kind, into.text, into.number = PACKED, <const char*><bytes>packed, len(packed)
        return HEAD_BYTES + into.number + NUMBER_BYTES


cdef int _earlier(const void* a, const void* b) noexcept nogil:
    return 1 if (<Place*>a).ordinal > (<Place*>b).ordinal else -1


cdef inline unsigned char* _write(unsigned char* to, Name* name, double cell) noexcept nogil:
    """Write a name and its number; return where they end."""
    if name.kind == NUMBER:
        to += _write_head(to, name.number, 7, 0xcc)
    else:
        if name.kind == TEXT:
            to += _write_head(to, name.number, 5, 0xd9)
        memcpy(to, name.text, name.number)
        to += name.number
    _write_number(to, cell)
    return to + NUMBER_BYTES


cdef Py_ssize_t _write_head(unsigned char* to, uint64_t number, int bits, unsigned char first) noexcept nogil:
    """Write an integer or the length of a text: within the first byte if it has so few bits, or in 1, 2 or 4 more."""
    cdef int n_bytes, k
    if number < <uint64_t>1 << bits:
        to[0] = <unsigned char>(number if bits == 7 else 0xa0 | number)
        return 1
    n_bytes = 1 if number < 1 << 8 else 2 if number < 1 << 16 else 4
    to[0] = <unsigned char>(first + n_bytes // 2)
    for k in range(n_bytes):
        to[1 + k] = <unsigned char>(number >> 8 * (n_bytes - 1 - k))
    return 1 + n_bytes


cdef void _write_number(unsigned char* to, double number) noexcept nogil:
    """Write a double, its highest byte first."""
    cdef uint64_t bits
    cdef int k
    memcpy(&bits, &number, 8)
    to[0] = 0xcb
    for k in range(8):
        to[1 + k] = <unsigned char>(bits >> 8 * (7 - k))
