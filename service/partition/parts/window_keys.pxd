# The C types of window_keys.py, for compiled code.
cimport cython


@cython.locals(row=Py_ssize_t, count=Py_ssize_t)
cdef Py_ssize_t _list_marked(const unsigned char[::1] marks, Py_ssize_t n, int[::1] rows) except -1


@cython.locals(n=Py_ssize_t, at=Py_ssize_t)
cdef int _copy(const unsigned char[::1] given, const int[::1] rows, Py_ssize_t size, unsigned char[::1] to) except -1


@cython.final
cdef class KeyTable:
    cdef Py_ssize_t _capacity
    cdef readonly Py_ssize_t n
    cdef readonly long long n_left
    cdef long long[::1] _hashes
    cdef int[::1] _older
    cdef int[::1] _newer
    cdef readonly unsigned char[::1] changed
    cdef int _oldest
    cdef int _newest
    cdef long long _mask
    cdef int[::1] _slots

    @cython.locals(mask=cython.longlong, at=cython.longlong)
    cpdef int find(self, long long key) noexcept

    @cython.locals(row=int)
    cpdef int add(self, long long key) except -1

    cpdef void make_newest(self, int row) noexcept

    @cython.locals(room=Py_ssize_t)
    cdef int _reserve(self, Py_ssize_t n) except -1

    @cython.locals(n_slots=Py_ssize_t, row=int)
    cdef int _make_slots(self, Py_ssize_t room) except -1

    @cython.locals(at=cython.longlong)
    cdef void _insert(self, int row) noexcept

    @cython.locals(mask=cython.longlong, hole=cython.longlong, at=cython.longlong, home=cython.longlong)
    cdef void _remove(self, int row) noexcept

    cdef void _append(self, int row) noexcept

    @cython.locals(older=int, newer=int)
    cdef void _detach(self, int row) noexcept
