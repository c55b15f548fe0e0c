"""Names of features, each with a slot: the compiled form of `names.py`, which says what it means.

A hash table with linear probing (Knuth, The Art of Computer Programming, volume 3, 6.4, algorithms L and R). Python's
own dictionary is not made for being asked from C by a name whose hash is known: see docs/decisions.md for figures.
"""

cimport cython
from cpython.dict cimport PyDict_CheckExact, PyDict_Next
from cpython.object cimport PyObject
from libc.stdlib cimport calloc, free

import array

from perceptron_core.entries cimport Entries
from perceptron_core.values cimport as_double

from perceptron_core.entries import NO_SLOT as _NO_SLOT
from perceptron_core.values import MAX_MAGNITUDE as _MAX_MAGNITUDE, refuse_features

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
    /* Of two strings that both know their hash: 1 or 0. Otherwise -1: ask Python. */
    static inline int same_text(PyObject *a, PyObject *b) {
        if (!PyUnicode_CheckExact(a) || !PyUnicode_CheckExact(b)) return -1;
        Py_ssize_t n = PyUnicode_GET_LENGTH(a);
        if (n != PyUnicode_GET_LENGTH(b) || PyUnicode_KIND(a) != PyUnicode_KIND(b)) return 0;
        return !memcmp(PyUnicode_DATA(a), PyUnicode_DATA(b), (size_t)n * PyUnicode_KIND(a));
    }
    static inline void replace_item(PyObject *list, Py_ssize_t k, PyObject *item) {
        PyObject *old = PyList_GET_ITEM(list, k);
        Py_INCREF(item);
        PyList_SET_ITEM(list, k, item);
        Py_DECREF(old);
    }
    """
    Py_hash_t hash_of(PyObject* name) except -1
    int same_text(PyObject* a, PyObject* b)
    void replace_item(PyObject* items, Py_ssize_t k, PyObject* item)
    PyObject* PyList_GET_ITEM(PyObject* items, Py_ssize_t k)
    bint PyFloat_CheckExact(PyObject* value)
    double PyFloat_AS_DOUBLE(PyObject* value)
    bint PyLong_CheckExact(PyObject* value)
    double PyLong_AsDouble(PyObject* value) except? -1

cdef int NO_SLOT = _NO_SLOT
cdef double MAX_MAGNITUDE = _MAX_MAGNITUDE
cdef int FIRST_BITS = 5

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
        free(self._cells)

    def __len__(self):
        return self._n

    def __sizeof__(self):
        return object.__sizeof__(self) + sizeof(Cell) * (<size_t>1 << self._bits) + 8 * len(self._ordinals)

    cpdef int find(self, name) except -2:
        """Give the slot of a name, `NO_SLOT` if it has none."""
        cdef Cell* cell = self._cell_of(<PyObject*>name, fingerprint(<PyObject*>name))
        return NO_SLOT if cell.name == NULL else cell.slot

    cpdef add(self, name, int slot):
        """Add a name that is not there yet."""
        if 3 * (self._n + 1) > <Py_ssize_t>2 << self._bits:  # at most two thirds full
            self._resize(self._bits + 1)
        cdef unsigned int mark = fingerprint(<PyObject*>name)
        cdef Cell* cell = self._cell_of(<PyObject*>name, mark)
        cell.name, cell.fingerprint, cell.slot = <PyObject*>name, mark, slot
        if slot >= len(self._names):
            self._names += [NOBODY] * max(slot, 1 << FIRST_BITS)
            self._ordinals = array.array("q", bytes(self._ordinals) + bytes(8 * (len(self._names) - len(self._ordinals))))
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
        cdef Py_ssize_t n = 0, n_missing = 0, position = 0
        cdef PyObject* name
        cdef PyObject* value
        try:
            if PyDict_CheckExact(x):
                while PyDict_Next(x, &position, &name, &value):
                    n_missing += self._take(x, entries, n, name, value, n_known)
                    n += 1
            else:
                for key, number in x.items():
                    n_missing += self._take(x, entries, n, <PyObject*>key, <PyObject*>number, n_known)
                    n += 1
        except (TypeError, ValueError, OverflowError):
            raise refuse_features(x) from None
        # Not the version of now: a name's own __eq__ may have changed the model meanwhile.
        entries.n, entries.n_missing, entries.version = n, n_missing, version
        return 0

    cdef int _take(
        self, x, Entries entries, Py_ssize_t k, PyObject* name, PyObject* value, Py_ssize_t n_known
    ) except -1:
        """Make (name, value) entry k; tell whether it has no slot."""
        cdef double number
        if PyFloat_CheckExact(value):
            number = PyFloat_AS_DOUBLE(value)
        elif PyLong_CheckExact(value):
            number = PyLong_AsDouble(value)
        else:
            number = double_of(<object>name, <object>value)
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

    cdef _resize(self, int bits):
        """Move all names to a table of 2ᵇⁱᵗˢ cells."""
        cdef Cell* old = self._cells
        cdef size_t n_old = <size_t>1 << self._bits if old != NULL else 0
        cdef size_t k, at
        cdef size_t mask = (<size_t>1 << bits) - 1
        cdef Cell* cells = <Cell*>calloc(mask + 1, sizeof(Cell))
        if cells == NULL:
            raise MemoryError
        self._cells, self._bits = cells, bits
        for k in range(n_old):
            if old[k].name != NULL:
                at = self._home(old[k].fingerprint)
                while cells[at].name != NULL:
                    at = (at + 1) & mask
                cells[at] = old[k]
        free(old)


cdef unsigned int fingerprint(PyObject* name) except? 1:
    """Give 32 bits of a name's hash, well mixed: the first of them say where it is at home."""
    return <unsigned int>((<unsigned long long>hash_of(name) * SPREAD) >> 32)


cdef double double_of(name, value) except? -1:
    """Convert a value; the arguments keep both alive, whatever its __float__ does to the example."""
    return as_double(value)
