# The C types of hashed_table.py, for compiled code.
cimport cython
from perceptron_core.weights.example cimport Column, Entries
from perceptron_core.weights.prefetch cimport prefetch
from perceptron_core.weights.weight_table cimport Slots
from perceptron_core.validation cimport as_double

cdef double MAX_MAGNITUDE


cdef class HashedEntries(Entries):
    cpdef dict by_name(self)


cdef class HashedSlots(Slots):
    cdef readonly Py_ssize_t n_slots

    @cython.locals(column=Column)
    cdef _lay_out(self)

    @cython.locals(entries=Entries, n=Py_ssize_t, number=double)
    cdef Entries resolve(self, x)

    @cython.locals(slot="long long")
    cdef int slot_of(self, name) except -1

    @cython.locals(column=Column)
    cdef void prefetch(self, Entries x, Py_ssize_t start, Py_ssize_t end) noexcept

    cdef allocate(self, Entries x)

    cdef make_room(self, Entries x)

    cdef drop_zero_rows(self, Entries x)

    cdef drop_all_zero_rows(self)

    cpdef clear(self)

    @cython.locals(slot=int)
    cpdef dict stored(self, Column column)

    @cython.locals(slot=int, cell=double)
    cpdef dict nonzero(self, Column column)

    @cython.locals(slot=int)
    cpdef write(self, Column column, cells)

    @cython.locals(slot=int)
    cpdef add(self, Column column, amounts, double step)

    @cython.locals(k=Py_ssize_t)
    cdef _look_up_again(self, Entries x)

    @cython.locals(slot=int)
    cdef int _empty(self, Column column) except -1

    @cython.locals(column=Column)
    cdef bint _is_changed(self, int slot) noexcept
