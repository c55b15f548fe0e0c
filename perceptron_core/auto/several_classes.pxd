# The C types of several_classes.py, for compiled code.
cimport cython

from perceptron_core.auto.ensemble cimport Ensemble
from perceptron_core.linear.linear_rule cimport LinearRule
from perceptron_core.linear.one_vs_rest cimport OneVsRest
from perceptron_core.weights.example cimport Column, Example
from perceptron_core.weights.tables cimport WeightTable

cdef int _NO_ROOM


cdef class SeveralClasses:
    cdef list _experts, _blocks
    cdef int[::1] _places, _maps, _room, _widths, _capacities
    cdef Py_ssize_t _n_classes, _n_experts, _n_lanes

    @cython.locals(first=Ensemble, number=int, room=int)
    cdef reserve(self, list ensembles, int[::1] sizes)

    @cython.locals(
        first=Ensemble, ensemble=Ensemble, k=Py_ssize_t, expert=Py_ssize_t, number=int, n_before=Py_ssize_t, stays=bint
    )
    cdef _gather(self, list ensembles)

    @cython.locals(capacity=Py_ssize_t, width=int, rule=LinearRule, column=Column, one=OneVsRest)
    cdef _lay_out(self, int number, Py_ssize_t n_slots)

    @cython.locals(width=int, at=Py_ssize_t, k=Py_ssize_t, j=Py_ssize_t, rule=LinearRule, one=OneVsRest)
    cdef _move_cells(self, int number, Py_ssize_t first, Py_ssize_t end)

    @cython.locals(k=Py_ssize_t)
    cdef list _experts_of(self, int number)

    @cython.locals(k=Py_ssize_t, number=Py_ssize_t, expert=OneVsRest, ensemble=Ensemble)
    cdef score(self, list ensembles, list examples, unsigned char[::1] active)

    @cython.locals(k=Py_ssize_t, expert=OneVsRest)
    cdef learn(self, list examples, unsigned char[::1] active, Py_ssize_t number, double w)


cdef _move(Column column, cells)
