# What compiled code knows of prefetch.pyx.
cpdef void prefetch(double[::1] cells, const int[::1] slots, Py_ssize_t start, Py_ssize_t end) noexcept
