# The C types of batches.py, for compiled code.
cimport cython
from libc.stdint cimport int64_t

from perceptron_core.weights.example cimport Example
from perceptron_core.linear.linear_rule cimport LinearRule
from perceptron_core.weights.tables cimport WeightTable
from perceptron_core.validation cimport example_weight, sign_of

cdef double MAX_MAGNITUDE
cdef Py_ssize_t _AHEAD


cdef class Batch:
    cdef Example x

    cdef int load_row(self, Py_ssize_t row) except -1

    @cython.locals(row=Py_ssize_t)
    cpdef score(self, LinearRule rule, double[::1] scores)

    @cython.locals(row=Py_ssize_t)
    cpdef learn(self, LinearRule rule, const signed char[::1] signs, const double[::1] weights)

    @cython.locals(row=Py_ssize_t)
    cpdef run(
        self, LinearRule rule, const signed char[::1] signs, const double[::1] weights, double[::1] scores
    )


cdef class SparseBatch(Batch):
    cdef WeightTable table
    cdef const int64_t[::1] indptr
    cdef Py_ssize_t n_entries

    @cython.locals(start=int64_t, end=int64_t)
    cdef int load_row(self, Py_ssize_t row) except -1


cdef class DenseBatch(Batch):
    cdef WeightTable table

    cdef int load_row(self, Py_ssize_t row) except -1


@cython.locals(row=Py_ssize_t)
cpdef decide(LinearRule rule, const double[::1] scores, unsigned char[::1] classes)


@cython.locals(signs="signed char[::1]", n=Py_ssize_t)
cpdef signs_of(labels)


@cython.locals(taken="double[::1]", n=Py_ssize_t)
cpdef weights_of(weights)


@cython.locals(
    n_rows=Py_ssize_t, mask=int64_t, table=int64_t[::1], row=Py_ssize_t, start=int64_t,
    end=int64_t, at=int64_t, index=int, value=double, largest=double, n_sound=int64_t, n_falls=int64_t,
)
cpdef Py_ssize_t first_rejected(
    const int64_t[::1] indptr, const int[::1] indices, const double[::1] values, int n_slots
) except -1


@cython.locals(at=int64_t, slot=int64_t)
cdef bint _has_duplicate(
    const int[::1] indices, int64_t start, int64_t end, int64_t[::1] table, int64_t mask
) noexcept
