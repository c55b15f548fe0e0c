# The C types of late_features.py, for compiled code.
cimport cython

from perceptron_core.trees.trees cimport Trees

cdef int OTHER, _ABSENT
cdef unsigned long long _ONE


cpdef arrange(Trees trees, list bins, list names, Py_ssize_t n_classes)


@cython.locals(tree=Py_ssize_t)
cdef _join(Trees trees, int feature, unsigned long long name, Py_ssize_t n_classes)


@cython.locals(f=Py_ssize_t, node=Py_ssize_t)
cdef _take(Trees trees, Py_ssize_t tree, int feature, Py_ssize_t n_classes)


@cython.locals(tree=Py_ssize_t, node=Py_ssize_t, f=Py_ssize_t, bit="unsigned long long")
cpdef forget(Trees trees, int feature, int code)


@cython.locals(f=Py_ssize_t)
cdef Py_ssize_t _place_of(Trees trees, Py_ssize_t tree, int feature) noexcept
