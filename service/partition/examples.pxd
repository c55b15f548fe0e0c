# The C types of examples.py, for compiled code.
cimport cython

from perceptron_core.weights.feature_array cimport FeatureArray
from service.partition.parts.part cimport Part

cdef long long _EXAMPLE_BYTES
cdef long long _FEATURE_BYTES
cdef Py_ssize_t _LOOSE_FEATURES
cdef long long _LOOSE_BYTES


# Examples refer to plain values only, so the garbage collector can ignore them; there may be 100,000.
@cython.final
@cython.freelist(64)
@cython.no_gc
cdef class Example:
    cdef public object kept
    cdef public object predicted
    cdef public double score
    cdef public long long timestamp_ms
    cdef public object truth
    cdef public object step
    cdef public long long message_bytes
    cdef public long long size_bytes
    cdef public bytes keys
    cdef public str event_id
    cdef public bint is_provisional
    cdef public str decision
    cdef public double weight
    cdef public long long due_ms
    cdef public bint is_learned_early

    cpdef features(self)

    @cython.locals(n=Py_ssize_t)
    cpdef Py_ssize_t compact(self) except -1

    cpdef Py_ssize_t pack(self) except -1


cpdef tuple row_of(Example example)


@cython.locals(example=Example)
cpdef Example example_of(row)


@cython.final
cdef class LearnedExamples:
    cdef readonly bint has_log_odds
    cdef readonly tuple parts
    cdef readonly list examples
    cdef readonly list truths
    cdef readonly list mistakes
    cdef list _updates
    cdef list _delays
    cdef readonly list corrections

    @cython.locals(part=Part)
    cpdef note(self, Example example, truth, change, long long updates, double label_delay_seconds=*)

    @cython.locals(part=Part)
    cpdef correct(self, Example example, truth, change)

    @cython.locals(example=Example)
    cpdef list predictions(self)

    @cython.locals(example=Example)
    cpdef scores(self)

    @cython.locals(k=Py_ssize_t, n=Py_ssize_t, example=Example, column="double[::1]")
    cpdef scores_of(self, truth)

    @cython.locals(example=Example)
    cpdef list log_odds(self)

    @cython.locals(k=Py_ssize_t, example=Example, cells=bytearray)
    cpdef cells(self)


@cython.locals(bits="const long long[::1]", k=Py_ssize_t, left_out=int, counts=dict)
cpdef list count_numbers(double[::1] scores)
