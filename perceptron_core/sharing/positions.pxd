# The C types of positions.py, for compiled code.
cimport cython


@cython.locals(gaps="double[::1]", last=int, k=Py_ssize_t)
cpdef to_gaps(const int[::1] positions)


@cython.locals(positions="int[::1]", position=double, k=Py_ssize_t)
cpdef from_gaps(const double[::1] gaps, Py_ssize_t n)


@cython.locals(merged="int[::1]", k=Py_ssize_t, m=Py_ssize_t, n=Py_ssize_t, is_ones=bint, is_others=bint)
cpdef united(const int[::1] one, const int[::1] other)


@cython.locals(found="int[::1]", at=Py_ssize_t, k=Py_ssize_t)
cpdef places(const int[::1] all_positions, const int[::1] positions)
