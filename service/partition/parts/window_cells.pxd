# The C types of window_cells.py, for compiled code.
cimport cython

from perceptron_core.elementary cimport sqrt

cdef int _REGISTERS, _REGISTER_BITS, _MAX_RANK
cdef long long _REST, _MAX_COUNT
cdef int _EVENTS, _COUNT, _SUM, _MEAN, _LEAST, _MOST, _STD, _DISTINCT, _RATE
cdef double _FACTOR, _LINEAR_UP_TO, _NAN
cdef double[::1] _POWERS
cdef double[::1] _LINEAR


@cython.final
cdef class Cells:
    cdef readonly Py_ssize_t n_numbers
    cdef readonly Py_ssize_t n_hashes
    cdef readonly bint has_labels
    cdef readonly bint has_squares
    cdef readonly bint has_least
    cdef readonly bint has_most
    cdef readonly Py_ssize_t width
    cdef readonly Py_ssize_t first_number
    cdef readonly Py_ssize_t n_counts
    cdef readonly Py_ssize_t n_doubles
    cdef readonly Py_ssize_t n_registers
    cdef readonly Py_ssize_t n
    cdef int _free
    cdef long long[::1] number
    cdef int[::1] next
    cdef unsigned int[::1] counts
    cdef double[::1] doubles
    cdef unsigned char[::1] registers
    cdef readonly unsigned char[::1] changed

    @cython.locals(cell=Py_ssize_t, k=Py_ssize_t)
    cdef int take_empty(self, long long number) except -1

    @cython.locals(following=int)
    cdef void drop_from(self, int cell) noexcept

    cdef void set_next(self, int cell, int following) noexcept

    @cython.locals(at=Py_ssize_t, start=Py_ssize_t, column=Py_ssize_t, value=double, digest=cython.longlong)
    cdef int count_event(self, Py_ssize_t cell, list numbers, list hashes) except -1

    @cython.locals(at=Py_ssize_t)
    cdef void count_label(self, Py_ssize_t cell, int before, int truth) noexcept

    @cython.locals(total=double, gained=double)
    cdef void _count_number(self, Py_ssize_t start, long long n, double value) noexcept

    @cython.locals(rest=cython.longlong, rank=int)
    cdef void _count_hash(self, Py_ssize_t register, long long digest) noexcept

    cdef int _reserve(self, Py_ssize_t n) except -1


@cython.final
cdef class WindowTotals:
    cdef Cells _cells
    cdef long long _events
    cdef long long _labelled
    cdef long long _positives
    cdef long long[::1] _counts
    cdef double[::1] _numbers
    cdef unsigned char[::1] _registers

    @cython.locals(column=Py_ssize_t, k=Py_ssize_t)
    cdef void begin(self) noexcept

    @cython.locals(cells=Cells, at=Py_ssize_t, start=Py_ssize_t, column=Py_ssize_t)
    cdef void add(self, Py_ssize_t cell) noexcept

    @cython.locals(n=cython.longlong, at=Py_ssize_t)
    cdef double value(self, int kind, Py_ssize_t column) noexcept

    @cython.locals(
        cells=Cells, before=cython.longlong, at=Py_ssize_t, total=double, mean=double, difference=double, share=double
    )
    cdef void _add_number(self, Py_ssize_t column, long long n, Py_ssize_t start) noexcept

    @cython.locals(inverse=double, zeros=int, register=Py_ssize_t, rank=int, estimate=double)
    cdef double _distinct(self, Py_ssize_t k) noexcept


@cython.locals(k=Py_ssize_t)
cdef void _raise_to(
    unsigned char[::1] registers, const unsigned char[::1] others, Py_ssize_t start, Py_ssize_t n
) noexcept
