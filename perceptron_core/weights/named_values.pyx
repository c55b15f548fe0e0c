"""Features as shared names and doubles: the compiled form of `named_values.py`, which says what it means."""

cimport cython
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from libc.string cimport memcpy

from perceptron_core.weights.example cimport Example
from perceptron_core.weights.feature_array cimport FeatureArray

from perceptron_core.validation import MAX_MAGNITUDE as _MAX_MAGNITUDE, one_number_each, refuse_features

cdef double MAX_MAGNITUDE = _MAX_MAGNITUDE


# Names are strings, which refer to nothing: the garbage collector need not see it.
@cython.final
@cython.no_gc
cdef class NamedValues(FeatureArray):
    """An immutable mapping from names to numbers, in order."""

    def __cinit__(self):
        self.names, self.numbers = (), self._few

    def __init__(self, names, values):
        cdef tuple checked = tuple(names)
        cdef list numbers
        cdef Py_ssize_t k
        for name in checked:
            if type(name) is not str:
                raise TypeError(f"name {name!r} is no string")
        numbers = one_number_each(checked, values, "names")
        if self.n:
            raise TypeError("values that were made stay as they are")
        self._allocate(checked)
        for k in range(self.n):
            self.numbers[k] = numbers[k]

    def __dealloc__(self):
        if self.numbers != self._few:
            PyMem_Free(self.numbers)

    def __reduce__(self):
        return NamedValues, (self.names, list(self.values()))

    cpdef dict as_dict(self):
        """Return a new dictionary of the same names and values in the same order."""
        cdef dict made = {}
        cdef Py_ssize_t k
        for k in range(self.n):
            made[self.names[k]] = self.numbers[k]
        return made

    cdef int fill(self, Example example) except -1:
        """Write the values into an example with these names. Raises `FeatureError` if one is too large."""
        cdef Py_ssize_t k
        cdef bint are_taken = True
        if not self.n:
            return 0
        memcpy(&example.values[0], self.numbers, self.n * sizeof(double))
        for k in range(self.n):
            are_taken &= -MAX_MAGNITUDE <= self.numbers[k] <= MAX_MAGNITUDE
        if not are_taken:
            raise refuse_features(self)
        return 0

    cdef int _allocate(self, tuple names) except -1:
        """Take the names and make room for a value of each."""
        cdef Py_ssize_t n = len(names)
        cdef double* numbers
        if n > FEW:
            numbers = <double*>PyMem_Malloc(n * sizeof(double))
            if numbers == NULL:
                raise MemoryError
            self.numbers = numbers
        self.names, self.n = names, n
        return 0


cdef NamedValues named_values(tuple names, const double* numbers):
    """Make values of names that are strings, no two alike."""
    cdef NamedValues made = NamedValues.__new__(NamedValues)
    made._allocate(names)
    memcpy(made.numbers, numbers, made.n * sizeof(double))
    return made
