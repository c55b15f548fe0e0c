"""Names of features, each with a slot: the compiled form of `feature_index.py`, which says what it means.

A hash table with linear probing (Knuth, The Art of Computer Programming, volume 3, 6.4, algorithms L and R). Python's
own dictionary has no look-up from C by a name whose hash is known: design record 011 has the measurements.
"""

cimport cython
from cpython.dict cimport PyDict_CheckExact, PyDict_Next
from cpython.object cimport PyObject
from libc.stdint cimport uint64_t
from cpython.mem cimport PyMem_Calloc, PyMem_Free

import array

from perceptron_core cimport c_memory as memory
from perceptron_core.weights.example cimport Example
from perceptron_core.weights.index cimport Index
from perceptron_core.validation cimport as_double

from perceptron_core.weights.example import NO_SLOT as _NO_SLOT
from perceptron_core.validation import MAX_MAGNITUDE as _MAX_MAGNITUDE, refuse_features
from perceptron_core.weights.object_access cimport (
    PyFloat_AS_DOUBLE, PyFloat_CheckExact, PyList_GET_ITEM, PyLong_AsDouble, PyLong_CheckExact, PyUnicode_CheckExact,
    Py_False, Py_None, Py_True, ask_for, fingerprint, is_same_string, replace_item, same_text,
)

cdef int NO_SLOT = _NO_SLOT
cdef double MAX_MAGNITUDE = _MAX_MAGNITUDE
cdef int FIRST_BITS = 5

# Entries of a dictionary that the memory is asked for before the first of them is looked at.
cdef enum: AHEAD = 16

# Stands where no name is: any other object, None too, may be a name.
cdef object NOBODY = object()


@cython.final
@cython.no_gc_clear  # the cells point to what the list of names keeps alive
cdef class FeatureIndex(Index):
    """Slots by name, in the order in which the names came."""

    def __init__(self):
        self.n_fixed = self.version = 0
        self._names = []
        self._ordinals = array.array("q")
        self._n = 0
        self._n_ever = 0
        self._resize(FIRST_BITS)

    def __dealloc__(self):
        PyMem_Free(self._cells)

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
            ordinals[n_now:] = -1
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
        self._ordinals[slot] = -1
        self._names[slot] = NOBODY  # may run the last words of a name: so it comes last

    cpdef list slots(self):
        """List the slots of the stored names, in the order in which these came."""
        cdef Py_ssize_t slot
        cdef long long last = -1
        cdef bint in_order = True
        cdef list slots = []
        for slot in range(len(self._names)):
            if self._names[slot] is not NOBODY:
                slots.append(slot)
                in_order = in_order and self._ordinals[slot] > last
                last = self._ordinals[slot]
        if not in_order:
            slots.sort(key=array.array("q", self._ordinals).__getitem__)
        return slots

    cpdef tuple collect(self, double[:] cells, bint with_zeros):
        """Return names and their cells in the order in which names came, in one step for other threads."""
        cdef list slots = self.slots(), names = []
        cdef double[::1] found = array.array("d", bytes(8 * len(slots)))
        cdef Py_ssize_t slot
        cdef Py_ssize_t n = 0
        for slot in slots:
            if with_zeros or cells[slot]:
                names.append(self._names[slot])
                found[n] = cells[slot]
                n += 1
        return names, found.base[:n]

    cpdef tuple freeze(self, Py_ssize_t n_slots):
        """Copy the names by slot, and how many came before each: 64 bits, -1 where there is none."""
        return self._names[:n_slots], memoryview(self._ordinals)[:n_slots].tobytes()

    cpdef Py_ssize_t ordinal(self, int slot) except -2:
        """Return how many names came before the one that has a slot; -1 where there is none."""
        return self._ordinals[slot]

    cdef int resolve(self, x, Example example) except -1:
        """Make `example` that of `x`.

        Most often a name stands where it stood in the last example: `learn_one` comes after `predict_one`, and the
        columns of a table come in one order. Such a name is not looked up again.
        """
        cdef Py_ssize_t version = self.version
        cdef Py_ssize_t n_known = example.n if example.version == version else 0
        cdef Py_ssize_t n = 0, n_missing = 0
        try:
            if PyDict_CheckExact(x):
                return self._resolve_dictionary(x, example, n_known)
            example.state = 0
            for key, number in x.items():
                n_missing += self._read(x, example, n, <PyObject*>key, <PyObject*>number, n_known)
                n += 1
        except (AttributeError, TypeError, ValueError, OverflowError):
            raise refuse_features(x) from None
        # Not the version of now: a name's own __eq__ may have changed the model meanwhile.
        example.n, example.n_missing, example.version = n, n_missing, version
        return 0

    cdef int _resolve_dictionary(self, x, Example example, Py_ssize_t n_known) except -1:
        """Resolve a dictionary; return at once if it is the last example's, unchanged."""
        cdef uint64_t state = memory.state_of(x)
        if state != 0 and state == example.state and example.version == self.version:
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
                missing = self._read_plain(x, example, n, names[k], values[k], n_known)
                if missing >= 0:
                    n_missing += missing
                    n += 1
                    continue
                # From here on others' code may run and change the dictionary, so nothing is read ahead.
                n_missing += self._read(x, example, n, names[k], values[k], n_known)
                n += 1
                if len(<dict>x) != size:
                    raise RuntimeError("dictionary changed size during iteration")  # as Python says it
                position, n_ahead, state = positions[k], 1, 0
                break
        # Not the version of now: a name's own __eq__ may have changed the model meanwhile.
        example.n, example.n_missing, example.version, example.state = n, n_missing, version, state
        return 0

    cdef inline int _read_plain(
        self, x, Example example, Py_ssize_t k, PyObject* name, PyObject* value, Py_ssize_t n_known
    ) except -2:
        """Do as `_read` does if no foreign Python code can run; where it might, change nothing and return -1."""
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
        if k >= example.capacity or not PyUnicode_CheckExact(name):
            return -1
        if not -MAX_MAGNITUDE <= number <= MAX_MAGNITUDE:
            raise refuse_features(x)
        old = PyList_GET_ITEM(<PyObject*>example.names, k)
        if k >= n_known or (old != name and not is_same_string(name, old)):
            if old != Py_None and not PyUnicode_CheckExact(old):
                return -1
            cell = self._cell_of_text(name, fingerprint(name))
            if cell == NULL:
                return -1
            replace_item(<PyObject*>example.names, k, name)
            example.slots[k] = NO_SLOT if cell.name == NULL else cell.slot
        example.values[k] = number
        return example.slots[k] < 0

    cdef int _read(
        self, x, Example example, Py_ssize_t k, PyObject* name, PyObject* value, Py_ssize_t n_known
    ) except -1:
        """Write (name, value) as entry k; return whether it has no slot."""
        cdef object kept = <object>name  # no-cython-lint: alive, whatever the code of others does to the example
        cdef double number = as_double(<object>value)
        if not -MAX_MAGNITUDE <= number <= MAX_MAGNITUDE:
            raise refuse_features(x)
        if k == example.capacity:
            example.widen()
        cdef Cell* cell
        if k >= n_known or PyList_GET_ITEM(<PyObject*>example.names, k) != name:
            replace_item(<PyObject*>example.names, k, name)
            cell = self._cell_of(name, fingerprint(name))
            example.slots[k] = NO_SLOT if cell.name == NULL else cell.slot
        example.values[k] = number
        return example.slots[k] < 0

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
