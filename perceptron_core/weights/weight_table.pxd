# The C types of weight_table.py, for compiled code.
cimport cython

from perceptron_core.weights.example cimport Column
from perceptron_core.weights.row_table cimport RowTable


cdef class WeightTable(RowTable):
    @cython.locals(column=Column)
    cpdef list dump(self, Py_ssize_t n_slots)

    @cython.locals(column=Column)
    cpdef load(self, dumped)

    @cython.locals(slot=int)
    cpdef dict stored(self, Column column)

    @cython.locals(slot=int)
    cpdef list changed_slots(self)

    cpdef dict nonzero(self, Column column)

    @cython.locals(slot=int, cell=double)
    cpdef write(self, Column column, cells)

    @cython.locals(slot=int, amount=double)
    cpdef add(self, Column column, amounts, double step)
