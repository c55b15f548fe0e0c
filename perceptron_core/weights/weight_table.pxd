# The C types of weight_table.py, for compiled code.
cimport cython
from perceptron_core.weights.example cimport Column, Entries
from perceptron_core.weights.feature_index cimport Names

cdef int NO_SLOT


cdef class Slots:
    cdef list _columns
    cdef Names _names
    cdef int[::1] _free
    cdef Py_ssize_t _n_free
    cdef Py_ssize_t _n_slots
    cdef Py_ssize_t _capacity
    cdef Entries _spare

    @cython.locals(slot=Py_ssize_t)
    cpdef add_column(self, Column column)

    @cython.locals(last=Py_ssize_t)
    cdef drop_column(self, Column column)

    @cython.locals(entries=Entries)
    cdef Entries resolve(self, x)

    @cython.locals(entries=Entries)
    cpdef Entries columns(self, names)

    cdef refresh(self, Entries x)

    cdef release(self, Entries entries)

    @cython.locals(k=Py_ssize_t)
    cdef allocate(self, Entries x)

    cdef make_room(self, Entries x)

    @cython.locals(k=Py_ssize_t, slot=int)
    cdef drop_zero_rows(self, Entries x)

    @cython.locals(slot=int)
    cdef drop_all_zero_rows(self)

    @cython.locals(slot=int, column=Column)
    cpdef clear(self)

    @cython.locals(slot=int)
    cpdef dict stored(self, Column column)

    cpdef dict nonzero(self, Column column)

    @cython.locals(slot=int)
    cpdef write(self, Column column, cells)

    @cython.locals(slot=int, cell=double, amount=double)
    cpdef add(self, Column column, amounts, double step)

    @cython.locals(k=Py_ssize_t, slot=int)
    cdef _look_up_again(self, Entries x)

    cdef _release(self, name, int slot)

    @cython.locals(column=Column)
    cdef bint _is_zero(self, int slot)

    @cython.locals(column=Column, slot=int)
    cdef int _new_slot(self, name) except -1

    @cython.locals(capacity=Py_ssize_t, free=int[::1], column=Column)
    cdef int _make_room(self, Py_ssize_t n_names) except -1
