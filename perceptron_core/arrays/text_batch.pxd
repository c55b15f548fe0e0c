# The C types of text_batch.py, for compiled code.
cimport cython
from libc.stdint cimport int64_t

from perceptron_core.linear.batches cimport Batch
from perceptron_core.weights.tables cimport WeightTable
from perceptron_core.text.hasher cimport TextHasher

cdef Py_ssize_t _AHEAD


cdef class TextBatch(Batch):
    cdef WeightTable table
    cdef TextHasher hasher
    cdef readonly list texts
    cdef Py_ssize_t _first, _end
    cdef int64_t[::1] _ends

    @cython.locals(start=int64_t, end=int64_t)
    cdef int load_row(self, Py_ssize_t row) except -1

    @cython.locals(k=Py_ssize_t)
    cdef int _hash_from(self, Py_ssize_t row) except -1
