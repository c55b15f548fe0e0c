# The C types of refitted.py, for compiled code; those of most variables are inferred.
cimport cython

from perceptron_core.elementary cimport exp, log
from perceptron_core.linear.linear_rule cimport ClassVote
from perceptron_core.trees.boosting cimport Grower, TreeNodes
from perceptron_core.trees.trees cimport mixed
from perceptron_core.weights.example cimport Example

cdef extern from "math.h":
    cpdef double sqrt(double x)

cdef int MAX_SORTED, N_BINS, _INFERIOR_DELAY, _CAPACITY, _MAX_NEW, _RARER_WITH, _CELLS_PER_EVENT
cdef int _WORK_PER_EVENT, _AFTER_DRIFT, _MIN_LABELS_BETWEEN_DRIFTS
cdef int _MAX_LATENESS, _MAX_KEPT, _MAX_KEPT_WIDE, _MAX_VALUES
cdef unsigned long long _ONE
cdef double CLIP, _GROWTH, _MAX_NUMBER, _MIN_UNIT, _MAX_WEIGHT, _SHORT_RATE, _LONG_RATE, _DRIFT_DEVIATIONS
cdef double _RATE_OF_COMPARISON, _INFERIOR_ERROR_RATIO, _INFERIOR_ERROR_SLACK, inf


cdef class RefittedTrees:
    cdef readonly object seed
    cdef unsigned long long _key
    cdef readonly Py_ssize_t n_numbers, n_bins
    cdef readonly Example x
    cdef float[::1] row, _columns
    cdef dict _names
    cdef int[::1] _used, _labels
    cdef readonly TreeNodes trees
    cdef TreeNodes _next
    cdef Grower _grower
    cdef Py_ssize_t _n_used, _n_trees, _step
    cdef long long _n_events, _max_kept, _first, _due, _start, _end, _age, _n_counted, _offset
    cdef double[::1] _predictions, _weights
    cdef double _recent_error, _long_error, _own_error, _auto_error

    @cython.locals(number=Py_ssize_t, k=Py_ssize_t, at=Py_ssize_t)
    cpdef arrange(self, list bins, list names)

    cdef void set_event(
        self, const double[::1] values, const unsigned char[::1] present, const unsigned char[::1] codes
    ) noexcept

    @cython.locals(log_odds=double, total=double)
    cdef void score(self) noexcept

    cdef reserve(self, Py_ssize_t n_classes)

    cdef _reserve_refit(self, Py_ssize_t n, Py_ssize_t n_classes, list bins)

    @cython.locals(grown="long long")
    cdef void learn(self, Py_ssize_t label, double w, int is_wrong, bint auto_is_wrong) noexcept

    @cython.locals(at=Py_ssize_t, place=Py_ssize_t, event="long long")
    cdef bint relabel(self, Py_ssize_t label, double w) noexcept

    cdef bint _is_present(self, Py_ssize_t at) noexcept

    cdef bint has_drifted(self, double n_labels) noexcept

    cdef bint _is_drift(self, int is_wrong) noexcept

    cdef double _value(self, Py_ssize_t place, Py_ssize_t event) noexcept

    @cython.locals(label=int, count=double)
    cdef void _begin(self) noexcept

    cdef void _read(self, Py_ssize_t event) noexcept

    cdef void _advance(self) noexcept

    cdef void _bin(self, Py_ssize_t column) noexcept

    cdef void _grow(self) noexcept

    cpdef dict contributions(self, Py_ssize_t number)

    @cython.locals(first="long long", n=Py_ssize_t, columns=float[::1], k=Py_ssize_t, place=Py_ssize_t,
                   event=Py_ssize_t)
    cpdef get_state(self)

    cpdef set_state(self, state, list bins, list names, Py_ssize_t max_classes)

    @cython.locals(event=Py_ssize_t, k=Py_ssize_t, place=Py_ssize_t, value=double, least=double, most=double, code=int,
                   is_whole=bint)
    cdef _set_columns(self, const float[::1] values, long long first, Py_ssize_t n, Py_ssize_t n_classes)

    cdef _resume(self, bins, state, Py_ssize_t step, Py_ssize_t n_outputs, bytes predicted)


cdef class RefittedVote(ClassVote):
    pass
