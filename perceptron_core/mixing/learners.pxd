# The C types of learners.py, for compiled code.
cimport cython

from perceptron_core.linear.linear_rule cimport LinearRule
from perceptron_core.linear.normalized_adagrad cimport NormalizedAdaGradRule
from perceptron_core.weights.example cimport Column, Example
from perceptron_core.weights.tables cimport WeightTable

cdef int _IN_A_LINE, _SPARE


cdef class ClassVote(LinearRule):
    cdef readonly Py_ssize_t number

    cdef double score(self, Example x) except? -1
    cdef double learn_at(self, Example x, int sign, double w, double a) except? -1


cdef class Learners:
    cdef readonly Py_ssize_t number
    cdef readonly list rules
    cdef readonly Py_ssize_t n
    cdef int[::1] maps
    cdef int[::1] _room
    cdef list _blocks
    cdef unsigned char[::1] _left
    cdef list _edges

    cpdef add(self, LinearRule rule, int map_number)

    @cython.locals(k=Py_ssize_t)
    cdef forget(self, Py_ssize_t map_number, Py_ssize_t first, Py_ssize_t step)

    @cython.locals(slot=Py_ssize_t)
    cdef void _reset(self, NormalizedAdaGradRule rule, Py_ssize_t first, Py_ssize_t step) noexcept

    @cython.locals(number=Py_ssize_t, room=int, spare=int)
    cdef make_room(self, int[::1] sizes)

    cdef leave(self, int number)

    @cython.locals(
        k=Py_ssize_t, capacity=Py_ssize_t, n_used=Py_ssize_t, is_block=bint, rule=LinearRule, table=WeightTable,
        column=Column
    )
    cdef _lay_out(self, Py_ssize_t number, Py_ssize_t n_slots)

    @cython.locals(k=Py_ssize_t, n=Py_ssize_t, width=Py_ssize_t, capacity=Py_ssize_t, first=Py_ssize_t, column=Column)
    cdef _move(self, Py_ssize_t number, list columns, Py_ssize_t n_used, Py_ssize_t n_slots, bint is_block)
