# The C types of hasher.py, for compiled code.
cimport cython

from libc.stdint cimport int64_t
from perceptron_core.text.murmur3 cimport Murmur
from perceptron_core.text.tokenizer cimport Tokenizer

cdef int SPARE_BYTES, _LONGEST_RUN


@cython.final
cdef class Repeats:
    cdef bint _counts
    cdef int64_t _n_indices
    cdef unsigned char[::1] _marks
    cdef int64_t[::1] _table
    cdef int64_t _stamp

    cdef Py_ssize_t merge(self, int[::1] indices, double[::1] values, Py_ssize_t start, Py_ssize_t end) except -1

    @cython.locals(
        mask=Py_ssize_t, table=int64_t[::1], first=int64_t, counts=bint, offset=int64_t, filled=Py_ssize_t,
        at=Py_ssize_t, index=int, slot=Py_ssize_t, entry=int64_t,
    )
    cdef Py_ssize_t _merge_by_table(
        self, int[::1] indices, double[::1] values, Py_ssize_t start, Py_ssize_t end
    ) except -1

    @cython.locals(mask=Py_ssize_t)
    cdef Py_ssize_t _slot_mask(self, Py_ssize_t most) except -1


@cython.locals(filled=Py_ssize_t, at=Py_ssize_t, index=int, marked=int, mark=int)
cdef Py_ssize_t _drop_marked(
    int[::1] indices, unsigned char[::1] marks, Py_ssize_t start, Py_ssize_t end
) noexcept


cdef extern from "math.h":
    cpdef double sqrt(double x)


@cython.final
cdef class TextHasher:
    cdef readonly int[::1] indices
    cdef readonly double[::1] values
    cdef readonly Py_ssize_t filled

    cdef readonly int bits
    cdef int _index_mask
    cdef Py_ssize_t _shortest, _longest
    cdef bint _counts, _l2
    cdef Tokenizer _tokens
    cdef Murmur _murmur
    cdef Repeats _repeats

    @cython.locals(at=Py_ssize_t)
    cpdef dict transform_one(self, text)

    @cython.locals(ends=int64_t[::1], row=Py_ssize_t)
    cpdef object transform_many(self, texts, bint copy=*)

    cpdef int clear(self) except -1

    @cython.locals(row=Py_ssize_t, value=double)
    cpdef int append(self, text) except -1

    @cython.locals(repeats=Repeats, indices=int[::1], values=double[::1])
    cdef int _allocate(self) except -1

    @cython.locals(
        n=Py_ssize_t, most=Py_ssize_t, room=Py_ssize_t, capacity=Py_ssize_t, indices=int[::1], values=double[::1]
    )
    cdef int _reserve(self) except -1

    @cython.locals(at=Py_ssize_t, n=Py_ssize_t)
    cdef Py_ssize_t _hash_ngrams(self, const unsigned char* data) except -1

    @cython.locals(indices=int[::1], starts=int[::1], gap=int, murmur=Murmur, index_mask=int, token=Py_ssize_t)
    cdef int _hash_one_by_one(self, const unsigned char* data, Py_ssize_t n, Py_ssize_t at) except -1

    @cython.locals(size=Py_ssize_t)
    cdef int _hash_runs(self, const unsigned char* data, int n, Py_ssize_t at) except -1

    @cython.locals(indices=int[::1], starts=int[::1], murmur=Murmur, token=Py_ssize_t, start=int, end=int)
    cdef int _correct_indices(self, const unsigned char* data, int n, Py_ssize_t at) except -1

    @cython.locals(values=double[::1], squares=double, norm=double, at=Py_ssize_t)
    cdef int _scale_to_unit_length(self, Py_ssize_t row) except -1


@cython.locals(at=Py_ssize_t)
cdef void _fill(double[::1] values, Py_ssize_t start, Py_ssize_t end, double value) noexcept
