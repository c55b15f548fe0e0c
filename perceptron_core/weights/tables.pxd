# The C types of tables.py, for compiled code.
cimport cython

from perceptron_core cimport c_memory as memory
from perceptron_core.weights.example cimport Column, Example
from perceptron_core.weights.index cimport Index
from perceptron_core.weights.values cimport NamedValues

cdef int NO_SLOT


cdef class Changes:
    cdef unsigned char[::1] marks
    cdef Py_ssize_t capacity
    cdef readonly list dropped
    cdef readonly bint is_whole

    @cython.locals(marks="unsigned char[::1]")
    cdef grow(self, Py_ssize_t capacity)

    @cython.locals(k=Py_ssize_t, slot=int)
    cdef void note(self, Example x) noexcept

    @cython.locals(k=Py_ssize_t, slot=int)
    cdef note_raised(self, Example x, Column scales)

    cdef void mark(self, int slot) noexcept

    cdef drop(self, name)

    @cython.locals(marks=bytes, slot=Py_ssize_t)
    cpdef list slots(self)


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

    cdef begin_update(self, Example x)

    cdef store(self, Example x)

    @cython.locals(k=Py_ssize_t, slot=int)
    cdef drop_zero_rows(self, Example x)

    @cython.locals(slot=int)
    cdef drop_all_zero_rows(self)

    @cython.locals(slot=int, column=Column)
    cpdef clear(self)

    @cython.locals(column=Column)
    cpdef fix_slots(self, Py_ssize_t n_slots)

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
    cdef int _reserve(self, Py_ssize_t n_names) except -1


cdef class WeightTable(RowTable):
    @cython.locals(column=Column)
    cpdef list dump(self, Py_ssize_t n_slots)

    @cython.locals(column=Column)
    cpdef load(self, dumped)

    cpdef dict stored(self, Column column)

    cpdef dict nonzero(self, Column column)

    @cython.locals(slots=list, cells="double[::1]", k=Py_ssize_t)
    cpdef tuple collect(self, Column column, bint with_zeros)

    @cython.locals(slot=int)
    cpdef list changed_slots(self)

    @cython.locals(slot=int)
    cdef list _nonzero_slots(self, Column column)

    @cython.locals(slot=int, cell=double)
    cpdef write(self, Column column, cells)

    @cython.locals(slot=int, amount=double)
    cpdef add(self, Column column, amounts, double step)
