"""Prefetch the cells of slots: the compiled form of `prefetch.py`, which says what it means."""

cdef extern from *:
    """
    #if defined(__GNUC__)
    #define ask_for(cell) __builtin_prefetch(cell, 1)
    #else
    #define ask_for(cell) ((void)(cell))
    #endif
    """
    void ask_for(double* cell) noexcept


cpdef void prefetch(double[::1] cells, const int[::1] slots, Py_ssize_t start, Py_ssize_t end) noexcept:
    cdef Py_ssize_t at
    for at in range(start, end):
        ask_for(&cells[slots[at]])
