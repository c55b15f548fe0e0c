# The C types of label_history.py, for compiled code.
cimport cython

from perceptron_core.elementary cimport log

cdef double _LEAST


cdef class LabelHistory:
    cdef double[::1] _rates
    cdef double[::1] _shares
    cdef long long _n_of_class
    cdef long long _n_labels

    @cython.locals(k=Py_ssize_t, rate=double)
    cpdef count(self, bint is_class)

    @cython.locals(share=double)
    cpdef double information(self) except? -1

    @cython.locals(k=Py_ssize_t, share=double)
    cpdef show(self, double[::1] inputs)
