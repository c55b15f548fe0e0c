# The C types of columns.py, for compiled code.
cimport cython


@cython.locals(row=Py_ssize_t, count=Py_ssize_t)
cdef Py_ssize_t _list_marked(const unsigned char[::1] marks, Py_ssize_t n, int[::1] rows) except -1


@cython.locals(n=Py_ssize_t, at=Py_ssize_t)
cdef int _copy(const unsigned char[::1] given, const int[::1] rows, Py_ssize_t size, unsigned char[::1] found) except -1
