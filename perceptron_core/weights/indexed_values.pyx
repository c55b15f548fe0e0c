"""Hashed features as arrays: the compiled form of `indexed_values.py`, which says what it means."""

cimport cython
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from libc.string cimport memcpy

from perceptron_core.weights.example cimport Example
from perceptron_core.weights.feature_array cimport FeatureArray

from perceptron_core.validation import MAX_MAGNITUDE as _MAX_MAGNITUDE, one_number_each

cdef double MAX_MAGNITUDE = _MAX_MAGNITUDE


@cython.final
@cython.no_gc
cdef class IndexedValues(FeatureArray):
    """An immutable mapping from indices to numbers, in order."""

    def __init__(self, indices, values):
        cdef list checked = [*indices], numbers
        cdef Py_ssize_t k
        for index in checked:
            if type(index) is not int or not 0 <= index < 1 << 31:
                raise ValueError(f"{index!r} is no index below 2**31")
        numbers = one_number_each(checked, values, "indices")
        if self.numbers != NULL:
            raise TypeError("values that were made stay as they are")
        self._allocate(len(checked))
        for k in range(self.n):
            self.indices[k], self.numbers[k] = checked[k], numbers[k]

    def __dealloc__(self):
        PyMem_Free(self.numbers)

    def __reduce__(self):
        return IndexedValues, (list(self.keys()), list(self.values()))

    cpdef dict as_dict(self):
        """Return a new dictionary of the same indices and values in the same order."""
        cdef dict made = {}
        cdef Py_ssize_t k
        for k in range(self.n):
            made[self.indices[k]] = self.numbers[k]
        return made

    cdef bint fill(self, Example example, Py_ssize_t n_slots) except -1:
        """Write slots and values into an example; return whether all are valid, slots below `n_slots`."""
        cdef Py_ssize_t k
        cdef bint are_taken = True
        while example.capacity < self.n:
            example.widen()
        if self.n:
            memcpy(&example.slots[0], self.indices, self.n * sizeof(int))
            memcpy(&example.values[0], self.numbers, self.n * sizeof(double))
        for k in range(self.n):
            are_taken &= (self.indices[k] < n_slots) & (-MAX_MAGNITUDE <= self.numbers[k] <= MAX_MAGNITUDE)
        return are_taken

    cdef int _allocate(self, Py_ssize_t n) except -1:
        """Make room for so many features; one byte at least, which says that this was done."""
        self.numbers = <double*>PyMem_Malloc(n * (sizeof(double) + sizeof(int)) + 1)
        if self.numbers == NULL:
            raise MemoryError
        self.indices = <int*>(self.numbers + n)
        self.n = n
        return 0


cpdef IndexedValues indexed_values(const int[::1] indices, const double[::1] values, Py_ssize_t count):
    """Make `IndexedValues` of the first `count` indices and values, which must be valid."""
    cdef IndexedValues made = IndexedValues.__new__(IndexedValues)
    made._allocate(count)
    if count:
        memcpy(made.indices, &indices[0], count * sizeof(int))
        memcpy(made.numbers, &values[0], count * sizeof(double))
    return made
