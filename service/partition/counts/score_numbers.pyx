"""Bins of scores: the compiled form of `score_numbers.py`, which says what it means."""

from cpython cimport array
from libc.string cimport memcpy

cdef enum:
    _BITS_LEFT_OUT = 49
    _NUMBERS = 1 << 64 - _BITS_LEFT_OUT

BITS_LEFT_OUT = _BITS_LEFT_OUT

# Scores by number; all zero between two calls.
cdef Py_ssize_t[_NUMBERS] _counts


cpdef list count_numbers(array.array scores):
    """Return the numbers of the scores' bins, in the order in which they come first, and the scores in each."""
    cdef Py_ssize_t k
    cdef long long number
    cdef list numbers = []
    try:
        for k in range(len(scores)):
            number = _number(scores.data.as_doubles[k])
            if not _counts[number & _NUMBERS - 1]:
                numbers.append(number)
            _counts[number & _NUMBERS - 1] += 1
        return [(each, _counts[<long long>each & _NUMBERS - 1]) for each in numbers]
    finally:
        for each in numbers:
            _counts[<long long>each & _NUMBERS - 1] = 0


cdef long long _number(double score) noexcept:
    """Return the first bits of a double; those of 0 for −0."""
    cdef long long bits
    score += 0.0
    memcpy(&bits, &score, sizeof(bits))
    return bits >> _BITS_LEFT_OUT
