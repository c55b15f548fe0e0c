# The C types of decisions.py, for compiled code.
cimport cython

from service.partition.examples cimport Example
from service.partition.parts.part cimport Part
from service.partition.parts.thresholds cimport Budget, ClassBins

cdef int _EVERY
cdef double _DRIFTED
cdef double _AFTER_DRIFT


@cython.final
cdef class Rule:
    cdef readonly str name
    cdef readonly int goal
    cdef readonly double level
    cdef readonly object truth
    cdef readonly long long budget
    cdef readonly long long period_ms
    cdef readonly double confidence
    cdef readonly Budget spent
    cdef public long long n_decided
    cdef public long long n_labelled
    cdef public long long n_right
    cdef public double threshold
    cdef readonly bytes written
    cdef readonly object shown
    cdef bint _has_log_odds
    cdef double _evidence
    cdef double _if_wrong
    cdef double _if_right

    cpdef bint has_budget(self, double score, long long timestamp_ms, bint takes) except -1

    @cython.locals(is_wrong=bint)
    cpdef bint detect_drift(self, bint is_of_class, bint is_decided) except -1

    cpdef double lowest_score(self) except? -1

    cdef _update_shown_threshold(self)


cdef class Decisions(Part):
    cdef readonly list rules
    cdef readonly bint has_log_odds
    cdef readonly double cost_added
    cdef readonly double cost_taken_back
    cdef readonly double cost_positive
    cdef readonly double cost_negative
    cdef dict _named
    cdef readonly dict bins
    cdef dict _rest
    cdef list _every
    cdef list _of_rules
    cdef double _fading
    cdef Py_ssize_t _n_since_search
    cdef readonly long long n_predictions
    cdef readonly long long n_decided
    cdef readonly long long first_ms
    cdef readonly long long latest_ms

    @cython.locals(rule=Rule)
    cpdef Rule decide(self, predicted, double score, long long timestamp_ms, bint is_new)

    @cython.locals(k=Py_ssize_t, rule=Rule, bins=ClassBins, own=double)
    cpdef Rule decision_for(self, predicted, double score, long long timestamp_ms, bint takes)

    @cython.locals(bins=ClassBins, is_of_class=bint, rule=Rule)
    cpdef learn(self, predicted, double score, truth, str decision)

    @cython.locals(k=Py_ssize_t, rule=Rule, has_drifted=bint)
    cdef bint _has_drifted(self, truth, decision) except -1

    @cython.locals(acts=bint)
    cdef double _cost(self, Rule rule, truth) except? -1

    @cython.locals(made=Example, rule=Rule)
    cpdef bytes on_event(self, example, event, long long timestamp_ms, bint is_new)

    @cython.locals(labelled=Example)
    cpdef on_label(self, example, before, truth)
