# The C types of touches.py, for compiled code.
cimport cython

from perceptron_core.weights.example cimport Column, Example


cdef class Touches:
    cdef public Column marks
    cdef int[::1] slots
    cdef readonly Py_ssize_t n
    cdef public long long n_updates

    @cython.locals(slots="int[::1]")
    cpdef int make_room(self, Py_ssize_t n) except -1

    @cython.locals(k=Py_ssize_t, slot=int)
    cdef void note(self, Example x) noexcept

    @cython.locals(k=Py_ssize_t, slot=int)
    cdef note_change(self, Example x)

    @cython.locals(mark=double)
    cpdef void add(self, int slot, double count) noexcept

    cpdef double count(self, int slot) noexcept

    @cython.locals(k=Py_ssize_t, slot=int)
    cpdef void drop_first(self, Py_ssize_t n) noexcept

    cpdef void forget(self) noexcept
