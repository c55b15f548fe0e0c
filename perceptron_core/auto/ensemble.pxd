# The C types of ensemble.py, for compiled code.
cimport cython

from perceptron_core.linear.linear_rule cimport LinearRule
from perceptron_core.linear.normalized_adagrad cimport NormalizedAdaGradRule
from perceptron_core cimport c_memory as memory
from perceptron_core.mixing.mixer cimport LabelHistory
from perceptron_core.mixing.lead cimport Lead
from perceptron_core.mixing.mixer cimport Mixer
from perceptron_core.weights.example cimport Column, Example
from perceptron_core.weights.tables cimport WeightTable

cdef double CLIP
cdef int BOOSTED, N_MAPS, _IN_A_LINE, _SPARE


cdef class ExpertTables:
    cdef readonly Py_ssize_t number, n
    cdef readonly list rules
    cdef int[::1] maps, _room
    cdef list _blocks
    cdef unsigned char[::1] _is_moved_out

    cpdef add(self, LinearRule rule, int map_number)

    @cython.locals(k=Py_ssize_t)
    cdef forget(self, Py_ssize_t map_number, Py_ssize_t first, Py_ssize_t step)

    @cython.locals(slot=Py_ssize_t)
    cdef void _reset(self, NormalizedAdaGradRule rule, Py_ssize_t first, Py_ssize_t step) noexcept

    @cython.locals(number=Py_ssize_t, room=int, spare=int)
    cdef reserve(self, int[::1] sizes)

    cdef move_out(self, int number)

    @cython.locals(
        k=Py_ssize_t, capacity=Py_ssize_t, n_used=Py_ssize_t, is_block=bint, rule=LinearRule, table=WeightTable,
        column=Column
    )
    cdef _lay_out(self, Py_ssize_t number, Py_ssize_t n_slots)

    @cython.locals(k=Py_ssize_t, n=Py_ssize_t, width=Py_ssize_t, capacity=Py_ssize_t, first=Py_ssize_t, column=Column)
    cdef _move(self, Py_ssize_t number, list columns, Py_ssize_t n_used, Py_ssize_t n_slots, bint is_block)


cdef class Ensemble(ExpertTables):
    cdef readonly list names, mixers, may_lead
    cdef readonly Py_ssize_t n_blind, n_late
    cdef LabelHistory history
    cdef double information
    cdef double[::1] factors, scores, inputs, all_inputs, outputs

    @cython.locals(last=Py_ssize_t)
    cpdef add_expert(self, str name, LinearRule rule, int map_number, double factor, double weight, bint is_candidate)

    @cython.locals(k=Py_ssize_t, rule=LinearRule, x=Example)
    cdef score(self, list examples, unsigned char[::1] active, Lead lead)

    @cython.locals(k=Py_ssize_t, expert=int, is_inactive=bint)
    cdef _predict(self, unsigned char[::1] active, Lead lead)

    @cython.locals(mixer=Mixer)
    cdef double _mix(self, Py_ssize_t k) except? -1

    @cython.locals(k=Py_ssize_t, total=double)
    cdef double combined(self, Lead lead) except? -1

    @cython.locals(k=Py_ssize_t)
    cdef write_context(self, double[::1] context, Py_ssize_t start, Py_ssize_t n_outputs)

    @cython.locals(k=Py_ssize_t)
    cdef read_context(self, const double[::1] context, Py_ssize_t start, Py_ssize_t n, Py_ssize_t n_outputs)

    cpdef Py_ssize_t n_history(self) except -1

    @cython.locals(k=Py_ssize_t)
    cdef write_history(self, double[::1] context, Py_ssize_t start)

    @cython.locals(k=Py_ssize_t)
    cdef read_history(self, const double[::1] context, Py_ssize_t start)

    @cython.locals(k=Py_ssize_t, mixer=Mixer, log_odds=double)
    cdef learn_mixers(self, bint target, double w, Lead lead, bint recalled)

    @cython.locals(k=Py_ssize_t, rule=LinearRule)
    cdef learn(self, list examples, unsigned char[::1] active, bint target, double w)


cdef class ExpertMistakes:
    cdef double[::1] all, recent, labels

    @cython.locals(
        k=Py_ssize_t, j=Py_ssize_t, best=Py_ssize_t, highest=double, is_wrong=bint, boosted_is_wrong=int,
        first=Ensemble, ensemble=Ensemble
    )
    cdef int count(
        self, list ensembles, unsigned char[::1] active, Py_ssize_t number, double discount, Py_ssize_t n
    ) except -2
