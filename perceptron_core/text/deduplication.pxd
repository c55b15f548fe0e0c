# The C types of deduplication.py, for compiled code.
cimport cython
from libc.stdint cimport int64_t


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
