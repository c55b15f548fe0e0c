# The C types of weight_table.py, for compiled code.
cimport cython

from perceptron_core.weights.example cimport Column
from perceptron_core.weights.row_table cimport RowTable


cdef class WeightTable(RowTable):
    @cython.locals(column=Column)
    cpdef list dump(self, Py_ssize_t n_slots)

    @cython.locals(column=Column)
    cpdef load(self, dumped)

    cpdef dict stored(self, Column column)

    cpdef dict nonzero(self, Column column)

    @cython.locals(slots=list, cells="double[::1]", k=Py_ssize_t)
    cpdef tuple collect(self, Column column, bint with_zeros)

    @cython.locals(slot=int)
    cpdef list changed_slots(self)

    @cython.locals(slot=int)
    cdef list _nonzero_slots(self, Column column)

    @cython.locals(slot=int, cell=double)
    cpdef write(self, Column column, cells)

    @cython.locals(slot=int, amount=double)
    cpdef add(self, Column column, amounts, double step)
