# The C types of columns.py, for compiled code.
cimport cython

from perceptron_core.sharing.kinds cimport Kind, Precision, nearest_whole
from perceptron_core.sharing.mixed_block cimport MixedBlock
from perceptron_core.weights.example cimport Column, Example


cdef class SharedColumn:
    cdef readonly Kind kind
    cdef readonly Column column
    cdef readonly Column base
    cdef readonly int offset

    cdef double get(self, int slot) except? -1
    cdef int put(self, int slot, double value) except -1

    @cython.locals(entry=Py_ssize_t, slot=int)
    cpdef int shifts(self, Example x, const int[::1] rows, double[::1] shifts) except -1

    @cython.locals(
        x=Example, mixed=MixedBlock, precisions=Column, gains="const double[::1]",
        totals="const double[::1]", weighted="const double[::1]",
        weights="const double[::1]", fractions="const int[::1]",
        shifts="const double[::1]", new=NewNumbers, entry=Py_ssize_t, slot=int, own_at=int,
        value=double, old=double, precision=double, shift=double, own=double,
    )
    cdef int plan(self, Plan plan, int number) except -1

    cdef int prepare(self, const double[::1] values) except -1

    @cython.locals(
        x=Example, mixed=MixedBlock, new=NewNumbers, entry=Py_ssize_t, slot=int
    )
    cdef int carry_out(self, Plan plan, int number) except -1

    @cython.locals(total=double, row=Py_ssize_t, slot=int, difference=double)
    cpdef double squared_distance(self, Example x) except? -1

    @cython.locals(bases="double[::1]", entry=Py_ssize_t, slot=int)
    cpdef read_base(self, Example x, const int[::1] rows)

    @cython.locals(entry=Py_ssize_t, slot=int)
    cpdef write_base(self, Example x, const int[::1] rows, const double[::1] bases)


cdef class SharedAttribute(SharedColumn):
    cdef readonly object learner
    cdef readonly str name
    cdef readonly object prepared

    cdef double get(self, int slot) except? -1
    cdef int prepare(self, const double[::1] values) except -1
    cdef int put(self, int slot, double value) except -1


cdef class SharedCount(SharedAttribute):
    cdef int prepare(self, const double[::1] values) except -1


cdef class NewNumbers:
    cdef double[::1] bases
    cdef double[::1] values


cdef class Plan:
    cdef readonly list columns
    cdef readonly Example x
    cdef readonly MixedBlock mixed
    cdef int[::1] own_at
    cdef int[::1] moves
    cdef readonly list shifts
    cdef readonly list bases
    cdef readonly list new
    cdef readonly Column precisions
    cdef readonly int variance_number

    @cython.locals(mixed=MixedBlock, own_rows="const int[::1]", at="int[::1]", entry=Py_ssize_t, position=int)
    cpdef set_own(self, own, const int[::1] positions)

    @cython.locals(number=int, column=SharedColumn, new=NewNumbers)
    cpdef int compute(self) except -1

    @cython.locals(number=int, column=SharedColumn)
    cpdef int carry_out(self) except -1


@cython.locals(rows="int[::1]", n=Py_ssize_t, row=Py_ssize_t, slot=int, is_changed=bint, column=SharedColumn)
cpdef changed_rows(list columns, Example x)


@cython.locals(rows="int[::1]", n=Py_ssize_t, row=Py_ssize_t, slot=int, is_based=bint, column=SharedColumn)
cpdef based_rows(list columns, Example x)


@cython.locals(rows="int[::1]", row=Py_ssize_t)
cpdef all_rows(Py_ssize_t n)
