# The C types of drawn_features.py, for compiled code.
cimport cython

from perceptron_core.forest.draws cimport mixed

cdef int _FEWEST_FEATURES


cdef class DrawnFeatures:
    cdef readonly object seed
    cdef readonly Py_ssize_t n_trees
    cdef readonly Py_ssize_t n_bins
    cdef unsigned long long _key
    cdef readonly list columns
    cdef unsigned long long[::1] _hashes
    cdef int[::1] _chosen
    cdef unsigned long long[::1] _ranks
    cdef int[::1] features
    cdef int[::1] widths
    cdef int[::1] generations

    @cython.locals(k=Py_ssize_t)
    cdef note(self, list columns, list hashes)

    @cython.locals(k=Py_ssize_t, j=Py_ssize_t, n=Py_ssize_t, width=Py_ssize_t, rank="unsigned long long",
                   seed="unsigned long long")
    cdef void draw(self, Py_ssize_t tree, Py_ssize_t most) noexcept

    @cython.locals(n="unsigned long long", width="unsigned long long")
    cdef bint joins(self, Py_ssize_t tree, unsigned long long name) noexcept

    cdef unsigned long long _seed_of(self, Py_ssize_t tree) noexcept

    cdef Py_ssize_t width_of(self, Py_ssize_t n) noexcept
