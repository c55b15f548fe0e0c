# The C types of row_table.py, for compiled code.
cimport cython

from perceptron_core cimport c_memory as memory
from perceptron_core.weights.changes cimport Changes
from perceptron_core.weights.example cimport Column, Example
from perceptron_core.weights.index cimport Index
from perceptron_core.weights.named_values cimport NamedValues

cdef int NO_SLOT


cdef class RowTable:
    cdef Index _index
    cdef list _columns
    cdef public Changes changes
    cdef int[::1] _free
    cdef Py_ssize_t _n_free
    cdef readonly Py_ssize_t n_slots
    cdef Py_ssize_t _capacity
    cdef Example _spare

    @cython.locals(column=Column)
    cdef _lay_out(self)

    cpdef list read(self)

    cpdef add_column(self, Column column)

    cpdef track_changes(self)

    cdef drop_column(self, Column column)

    @cython.locals(example=Example)
    cdef Example resolve(self, x)

    @cython.locals(example=Example)
    cpdef Example columns(self, names)

    @cython.locals(example=Example)
    cpdef Example slots_given(self)

    cdef refresh(self, Example x)

    cdef release(self, Example example)

    cpdef dict by_name(self, Example x)

    @cython.locals(column=Column)
    cdef void prefetch(self, Example x, Py_ssize_t start, Py_ssize_t end) noexcept

    cdef allocate(self, Example x)

    cdef store(self, Example x)

    @cython.locals(k=Py_ssize_t, slot=int)
    cdef drop_zero_rows(self, Example x)

    @cython.locals(slot=int)
    cdef drop_all_zero_rows(self)

    @cython.locals(slot=int, column=Column)
    cpdef clear(self)

    @cython.locals(column=Column)
    cpdef widen(self, Py_ssize_t n_slots)

    cdef _drop(self, name, int slot)

    @cython.locals(column=Column)
    cdef bint _is_zero(self, int slot) noexcept

    @cython.locals(column=Column)
    cdef bint _is_changed(self, int slot) noexcept

    @cython.locals(k=Py_ssize_t, missing=list)
    cdef _store_missing(self, Example x)

    @cython.locals(n_stored=Py_ssize_t, k=Py_ssize_t)
    cdef _store(self, list names)

    @cython.locals(column=Column, slot=int)
    cdef _store_one(self, name)

    @cython.locals(capacity=Py_ssize_t, free=int[::1], column=Column)
    cdef int _make_room(self, Py_ssize_t n_names) except -1
