"""Names of features, each with a slot: the compiled form of `feature_index.py`, which says what it means.

A hash table with linear probing (Knuth, The Art of Computer Programming, volume 3, 6.4, algorithms L and R). Python's
own dictionary is not made for being asked from C by a name whose hash is known: see docs/decisions.md for figures.
"""

cimport cython
from cpython.dict cimport PyDict_CheckExact, PyDict_Next
from cpython.object cimport PyObject
from libc.stdint cimport uint64_t
from cpython.mem cimport PyMem_Calloc, PyMem_Free

import array

from perceptron_core.weights.example cimport Entries
from perceptron_core.validation cimport as_double

from perceptron_core.weights.example import NO_SLOT as _NO_SLOT
from perceptron_core.validation import MAX_MAGNITUDE as _MAX_MAGNITUDE, refuse_features

cdef extern from *:
    """
    /* The hash that a string keeps, without a call. */
    static inline Py_hash_t hash_of(PyObject *name) {
        if (PyUnicode_CheckExact(name)) {
            Py_hash_t kept = ((PyASCIIObject *)name)->hash;
            if (kept != -1) return kept;
        }
        return PyObject_Hash(name);
    }
    /* Of the two halves of the 16 bytes that end where a text of n bytes ends, those that are its own. */
    static const uint64_t OWN[17][2] = {
    #define TOP(n) (~(uint64_t)0 << (64 - 8 * (n)))
        {0, 0}, {0, TOP(1)}, {0, TOP(2)}, {0, TOP(3)}, {0, TOP(4)}, {0, TOP(5)}, {0, TOP(6)}, {0, TOP(7)}, {0, TOP(8)},
        {TOP(1), TOP(8)}, {TOP(2), TOP(8)}, {TOP(3), TOP(8)}, {TOP(4), TOP(8)}, {TOP(5), TOP(8)}, {TOP(6), TOP(8)},
        {TOP(7), TOP(8)}, {TOP(8), TOP(8)}
    #undef TOP
    };
    /* Of two strings: 1 or 0. Otherwise -1: ask Python. */
    static inline int same_text(PyObject *a, PyObject *b) {
        if (!PyUnicode_CheckExact(a) || !PyUnicode_CheckExact(b)) return -1;
        size_t n = (size_t)PyUnicode_GET_LENGTH(a);
        if (n != (size_t)PyUnicode_GET_LENGTH(b) || PyUnicode_KIND(a) != PyUnicode_KIND(b)) return 0;
    #if PY_LITTLE_ENDIAN
        if (n <= 16 && PyUnicode_IS_COMPACT_ASCII(a) && PyUnicode_IS_COMPACT_ASCII(b)) {
            /* What the 16 bytes hold before the text is still the string: its head is longer. No branch depends on n,
               since lengths cannot be guessed. */
            uint64_t x[2], y[2];
            memcpy(x, (char *)PyUnicode_DATA(a) + n - 16, 16);
            memcpy(y, (char *)PyUnicode_DATA(b) + n - 16, 16);
            return !(((x[0] ^ y[0]) & OWN[n][0]) | ((x[1] ^ y[1]) & OWN[n][1]));
        }
    #endif
        return !memcmp(PyUnicode_DATA(a), PyUnicode_DATA(b), n * PyUnicode_KIND(a));
    }
    /* Whether b is a string of the same hash and the same text as the string a. */
    static inline int is_same_string(PyObject *a, PyObject *b) {
        return PyUnicode_CheckExact(b) && ((PyASCIIObject *)a)->hash == ((PyASCIIObject *)b)->hash
            && same_text(a, b) == 1;
    }
    /* A number that no other dictionary has or had, nor this one before its last change (PEP 509); 0 where Python does
       not count so. */
    static inline uint64_t state_of(PyObject *dict) {
    #if PY_VERSION_HEX < 0x030D0000 && !defined(PYPY_VERSION)
        PyDictObject *d = (PyDictObject *)dict;
        return d->ma_values == NULL ? d->ma_version_tag : 0;  /* not where an instance's attributes are */
    #else
        return 0;
    #endif
    }
    #if defined(__GNUC__)
    #define ask_for(object) __builtin_prefetch(object)
    #else
    #define ask_for(object) ((void)(object))
    #endif
    static inline void replace_item(PyObject *list, Py_ssize_t k, PyObject *item) {
        PyObject *old = PyList_GET_ITEM(list, k);
        Py_INCREF(item);
        PyList_SET_ITEM(list, k, item);
        Py_DECREF(old);
    }
    """
    Py_hash_t hash_of(PyObject* name) except -1
    int same_text(PyObject* a, PyObject* b) noexcept
    bint is_same_string(PyObject* a, PyObject* b) noexcept
    uint64_t state_of(PyObject* dictionary) noexcept
    void ask_for(void* thing) noexcept
    bint PyUnicode_CheckExact(PyObject* name) noexcept
    PyObject* Py_True
    PyObject* Py_False
    PyObject* Py_None
    void replace_item(PyObject* items, Py_ssize_t k, PyObject* item)
    PyObject* PyList_GET_ITEM(PyObject* items, Py_ssize_t k)
    bint PyFloat_CheckExact(PyObject* value)
    double PyFloat_AS_DOUBLE(PyObject* value)
    bint PyLong_CheckExact(PyObject* value)
    double PyLong_AsDouble(PyObject* value) except? -1

cdef int NO_SLOT = _NO_SLOT
cdef double MAX_MAGNITUDE = _MAX_MAGNITUDE
cdef int FIRST_BITS = 5

# Entries of a dictionary that the memory is asked for before the first of them is looked at.
cdef enum: AHEAD = 16

# Stands where no name is: any other object, None too, may be a name.
cdef object NOBODY = object()

# 2⁶⁴ divided by the golden ratio: multiplied by it, hashes that lie in a row spread out (Knuth, 6.4).
cdef unsigned long long SPREAD = 0x9E3779B97F4A7C15ULL


@cython.final
@cython.no_gc_clear  # the cells point to what the list of names keeps alive
cdef class Names:
    """Slots by name, in the order in which the names came."""

    def __init__(self):
        self.version = 0
        self._names = []
        self._ordinals = array.array("q")
        self._n = 0
        self._n_ever = 0
        self._resize(FIRST_BITS)

    def __dealloc__(self):
        PyMem_Free(self._cells)

    def __len__(self):
        return self._n

    def __sizeof__(self):
        return object.__sizeof__(self) + sizeof(Cell) * (<size_t>1 << self._bits) + 8 * len(self._ordinals)

    cpdef int find(self, name) except -2:
        """Return the slot of a name, `NO_SLOT` if it has none."""
        cdef Cell* cell = self._cell_of(<PyObject*>name, fingerprint(<PyObject*>name))
        return NO_SLOT if cell.name == NULL else cell.slot

    cpdef bint has(self, int slot) except -1:
        """Return whether a name has this slot."""
        return slot < len(self._names) and self._names[slot] is not NOBODY

    cpdef at(self, int slot):
        """Return the name that has a slot."""
        return self._names[slot]

    cpdef int make_room(self, Py_ssize_t n_names, Py_ssize_t n_slots) except -1:
        """Allocate what so many more names need, all with slots below `n_slots`: `add` then needs nothing."""
        cdef int bits = self._bits
        cdef Py_ssize_t n_now = len(self._names)
        cdef long long[::1] ordinals
        while 2 * (self._n + n_names) > <Py_ssize_t>1 << bits:  # at most half full
            bits += 1
        if bits > self._bits:
            self._resize(bits)
        if n_slots > n_now:
            ordinals = array.array("q", bytes(8 * n_slots))
            ordinals[:n_now] = self._ordinals
            self._names += [NOBODY] * (n_slots - n_now)
            self._ordinals = ordinals
        return 0

    cpdef add(self, name, int slot):
        """Add a name that is not there yet."""
        self.make_room(1, slot + 1)
        cdef unsigned int mark = fingerprint(<PyObject*>name)
        cdef Cell* cell = self._cell_of(<PyObject*>name, mark)
        cell.name, cell.fingerprint, cell.slot = <PyObject*>name, mark, slot
        self._names[slot] = name
        self._ordinals[slot] = self._n_ever
        self._n += 1
        self._n_ever += 1
        self.version += 1

    cpdef remove(self, name):
        """Remove a name that is there; what its gap cuts off from where it is looked for moves up."""
        cdef size_t gap = self._cell_of(<PyObject*>name, fingerprint(<PyObject*>name)) - self._cells
        cdef size_t at = gap
        if self._cells[gap].name == NULL:
            raise KeyError(name)
        cdef size_t mask = (<size_t>1 << self._bits) - 1
        cdef int slot = self._cells[gap].slot
        while True:
            at = (at + 1) & mask
            if self._cells[at].name == NULL:
                break
            if ((at - self._home(self._cells[at].fingerprint)) & mask) >= ((at - gap) & mask):
                self._cells[gap] = self._cells[at]
                gap = at
        self._cells[gap].name = NULL
        self._n -= 1
        self.version += 1
        self._names[slot] = NOBODY  # may run the last words of a name: so it comes last

    cpdef list items(self):
        """List (name, slot) in the order in which the names came."""
        cdef Py_ssize_t slot
        cdef long long last = -1
        cdef bint in_order = True
        cdef list slots = [], items = []
        for slot in range(len(self._names)):
            if self._names[slot] is not NOBODY:
                slots.append(slot)
                in_order = in_order and self._ordinals[slot] > last
                last = self._ordinals[slot]
        if not in_order:
            slots.sort(key=array.array("q", self._ordinals).__getitem__)
        for slot in slots:
            items.append((self._names[slot], slot))
        return items

    cdef int resolve(self, x, Entries entries) except -1:
        """Make `entries` those of `x`.

        Most often a name stands where it stood in the last example: `learn_one` comes after `predict_one`, and the
        columns of a table come in one order. Such a name is not looked up again.
        """
        cdef Py_ssize_t version = self.version
        cdef Py_ssize_t n_known = entries.n if entries.version == version else 0
        cdef Py_ssize_t n = 0, n_missing = 0
        try:
            if PyDict_CheckExact(x):
                return self._resolve_dictionary(x, entries, n_known)
            entries.state = 0
            for key, number in x.items():
                n_missing += self._take(x, entries, n, <PyObject*>key, <PyObject*>number, n_known)
                n += 1
        except (TypeError, ValueError, OverflowError):
            raise refuse_features(x) from None
        # Not the version of now: a name's own __eq__ may have changed the model meanwhile.
        entries.n, entries.n_missing, entries.version = n, n_missing, version
        return 0

    cdef int _resolve_dictionary(self, x, Entries entries, Py_ssize_t n_known) except -1:
        """Do so for a dictionary; for one that is the last example, as it was then, nothing is to be done."""
        cdef uint64_t state = state_of(<PyObject*>x)
        if state != 0 and state == entries.state and entries.version == self.version:
            return 0
        cdef Py_ssize_t version = self.version, size = len(<dict>x)
        cdef PyObject* names[AHEAD]
        cdef PyObject* values[AHEAD]
        cdef Py_ssize_t positions[AHEAD]
        cdef Py_ssize_t position = 0, n = 0, n_missing = 0, n_ahead = AHEAD, n_read, k
        cdef int missing
        while True:
            n_read = 0
            while n_read < n_ahead and PyDict_Next(x, &position, &names[n_read], &values[n_read]):
                ask_for(names[n_read])
                ask_for(values[n_read])
                positions[n_read] = position
                n_read += 1
            if not n_read:
                break
            for k in range(n_read):
                missing = self._take_plain(x, entries, n, names[k], values[k], n_known)
                if missing >= 0:
                    n_missing += missing
                    n += 1
                    continue
                # From here on others' code may run and change the dictionary, so nothing is read ahead.
                n_missing += self._take(x, entries, n, names[k], values[k], n_known)
                n += 1
                if len(<dict>x) != size:
                    raise RuntimeError("dictionary changed size during iteration")  # as Python says it
                position, n_ahead, state = positions[k], 1, 0
                break
        # Not the version of now: a name's own __eq__ may have changed the model meanwhile.
        entries.n, entries.n_missing, entries.version, entries.state = n, n_missing, version, state
        return 0

    cdef inline int _take_plain(
        self, x, Entries entries, Py_ssize_t k, PyObject* name, PyObject* value, Py_ssize_t n_known
    ) except -2:
        """Do as `_take` does, but only where no code of others can run; -1, and nothing is done, where it might."""
        cdef double number
        cdef PyObject* old
        cdef Cell* cell
        if PyFloat_CheckExact(value):
            number = PyFloat_AS_DOUBLE(value)
        elif PyLong_CheckExact(value):
            number = PyLong_AsDouble(value)
        elif value == Py_True or value == Py_False:
            number = value == Py_True
        else:
            return -1
        if k >= entries.capacity or not PyUnicode_CheckExact(name):
            return -1
        if not -MAX_MAGNITUDE <= number <= MAX_MAGNITUDE:
            raise refuse_features(x)
        old = PyList_GET_ITEM(<PyObject*>entries.names, k)
        if k >= n_known or (old != name and not is_same_string(name, old)):
            if old != Py_None and not PyUnicode_CheckExact(old):
                return -1
            cell = self._cell_of_text(name, fingerprint(name))
            if cell == NULL:
                return -1
            replace_item(<PyObject*>entries.names, k, name)
            entries.slots[k] = NO_SLOT if cell.name == NULL else cell.slot
        entries.values[k] = number
        return entries.slots[k] < 0

    cdef int _take(
        self, x, Entries entries, Py_ssize_t k, PyObject* name, PyObject* value, Py_ssize_t n_known
    ) except -1:
        """Make (name, value) entry k; tell whether it has no slot."""
        cdef object kept = <object>name  # no-cython-lint: alive, whatever the code of others does to the example
        cdef double number = as_double(<object>value)
        if not -MAX_MAGNITUDE <= number <= MAX_MAGNITUDE:
            raise refuse_features(x)
        if k == entries.capacity:
            entries.widen()
        cdef Cell* cell
        if k >= n_known or PyList_GET_ITEM(<PyObject*>entries.names, k) != name:
            replace_item(<PyObject*>entries.names, k, name)
            cell = self._cell_of(name, fingerprint(name))
            entries.slots[k] = NO_SLOT if cell.name == NULL else cell.slot
        entries.values[k] = number
        return entries.slots[k] < 0

    cdef size_t _home(self, unsigned int mark) noexcept:
        return mark >> (32 - self._bits)

    cdef Cell* _cell_of(self, PyObject* name, unsigned int mark) except NULL:
        """Find the cell of a name, or the empty one where it would be."""
        cdef size_t mask = (<size_t>1 << self._bits) - 1
        cdef size_t at = self._home(mark)
        cdef Py_ssize_t version
        cdef Cell* cell
        cdef int same
        while True:
            cell = &self._cells[at]
            if cell.name == NULL or cell.name == name:
                return cell
            if cell.fingerprint == mark:
                same = same_text(<PyObject*>cell.name, name)
                if same < 0:
                    version = self.version
                    same = <object>cell.name == <object>name
                    if version != self.version:  # their __eq__ has changed the model: once more
                        mask = (<size_t>1 << self._bits) - 1
                        at = self._home(mark)
                        continue
                if same:
                    return cell
            at = (at + 1) & mask

    cdef inline Cell* _cell_of_text(self, PyObject* name, unsigned int mark) noexcept:
        """Find the cell of a string as `_cell_of` does; NULL if another kind of name has to be asked."""
        cdef size_t mask = (<size_t>1 << self._bits) - 1
        cdef size_t at = self._home(mark)
        cdef Cell* cell
        cdef int same
        while True:
            cell = &self._cells[at]
            # Whether a name is stored cannot be guessed: one that is not is compared with itself, without a branch.
            if (cell.name == NULL) | (cell.fingerprint == mark):
                same = same_text(name, name if cell.name == NULL else cell.name)
                if same:
                    return cell if same > 0 else NULL
            at = (at + 1) & mask

    cdef _resize(self, int bits):
        """Move all names to a table of 2ᵇⁱᵗˢ cells."""
        cdef Cell* old = self._cells
        cdef size_t n_old = <size_t>1 << self._bits if old != NULL else 0
        cdef size_t k, at
        cdef size_t mask = (<size_t>1 << bits) - 1
        cdef Cell* cells = <Cell*>PyMem_Calloc(mask + 1, sizeof(Cell))
        if cells == NULL:
            raise MemoryError
        self._cells, self._bits = cells, bits
        for k in range(n_old):
            if old[k].name != NULL:
                at = self._home(old[k].fingerprint)
                while cells[at].name != NULL:
                    at = (at + 1) & mask
                cells[at] = old[k]
        PyMem_Free(old)


cdef unsigned int fingerprint(PyObject* name) except? 1:
    """Return 32 bits of a name's hash, well mixed: the first of them say where it is at home."""
    return <unsigned int>((<unsigned long long>hash_of(name) * SPREAD) >> 32)
