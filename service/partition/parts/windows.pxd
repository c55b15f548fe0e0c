# The C types of windows.py, for compiled code.
cimport cython

from service.partition.parts.window_cells cimport Cells, WindowTotals
from service.partition.parts.window_keys cimport KeyTable

cdef int _CELLS
cdef long long _LATEST_MS
cdef double _MAX_VALUE


@cython.locals(n=Py_ssize_t, window=Window, inputs=tuple)
cpdef put_all(list windows, dict features, tuple windowed, long long timestamp_ms)


@cython.locals(is_late=bint, n=Py_ssize_t, window=Window, inputs=tuple)
cpdef bint take_all(list windows, tuple windowed, long long timestamp_ms) except -1


@cython.final
cdef class Window:
    cdef readonly KeyTable keys
    cdef Cells _cells
    cdef WindowTotals _totals
    cdef long long[::1] _spans_ms
    cdef int[::1] _kinds
    cdef int[::1] _columns
    cdef list _names
    cdef Py_ssize_t _n_spans
    cdef Py_ssize_t _n_outputs
    cdef str _since
    cdef tuple _shape
    cdef Py_ssize_t _max_keys
    cdef long long[::1] _newest_ms
    cdef int[::1] _heads
    cdef readonly unsigned char[::1] changed

    @cython.locals(row=Py_ssize_t, totals=WindowTotals, span=Py_ssize_t, output=Py_ssize_t, value=double)
    cpdef add_features(self, dict features, long long key, long long timestamp_ms)

    @cython.locals(
        row=Py_ssize_t, is_late=bint, span=Py_ssize_t, number=cython.longlong, least=cython.longlong, cell=int
    )
    cpdef bint count_event(self, long long key, long long timestamp_ms, list numbers, list hashes) except -1

    @cython.locals(row=Py_ssize_t, cells=Cells, span=Py_ssize_t, number=cython.longlong, cell=int, known=int)
    cpdef count_label(self, long long key, long long timestamp_ms, int before, int truth)

    @cython.locals(sixteenths=cython.longlong, length=cython.longlong)
    cdef long long _number(self, long long timestamp_ms, Py_ssize_t span) noexcept

    @cython.locals(cells=Cells, cell=int)
    cdef void _add_up(self, Py_ssize_t head, long long number) noexcept

    @cython.locals(n=Py_ssize_t, row=int, first=Py_ssize_t, head=Py_ssize_t)
    cdef Py_ssize_t _add_key(self, long long key, long long timestamp_ms) except -1

    @cython.locals(cells=Cells, previous=int, cell=int, made=int)
    cdef int _cell(self, Py_ssize_t head, long long number, long long least) except -1
