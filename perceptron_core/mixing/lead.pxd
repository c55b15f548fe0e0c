# The C types of lead.py, for compiled code; those of most variables are inferred.
cimport cython

from libc.stdint cimport uint64_t
from perceptron_core cimport c_memory as memory
from perceptron_core.elementary cimport logistic

cdef double _A_FEW
cdef Py_ssize_t _AVERAGED, _PROMPT


cdef class LastEvent:
    cdef str _text
    cdef uint64_t _state
    cdef list _items

    cdef forget(self)

    cdef keep(self, x)

    @cython.locals(items=list)
    cdef bint is_same(self, x) except -1


cdef class Lead:
    cdef Py_ssize_t _n_always, _n_blind, _n_mixers
    cdef readonly Py_ssize_t n, leader, prompt_labels
    cdef public double discount
    cdef readonly double[::1] weights
    cdef bint _averages
    cdef double _loss
    cdef double[::1] _losses, _regrets, _log_losses

    cpdef bint is_prompt(self) noexcept

    cpdef note_lateness(self, double lateness)

    cpdef evaluate(self, Py_ssize_t candidate, double loss, double log_loss=*)

    cpdef choose(self)

    cdef _set_weights(self)

    cpdef follow(self, Py_ssize_t leader, double share)

    cpdef bint is_in_use(self, Py_ssize_t candidate) noexcept

    cpdef set_n_experts(self, Py_ssize_t n_experts)
