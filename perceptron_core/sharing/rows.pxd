# The C types of rows.py, for compiled code.
cimport cython

from perceptron_core.base.multiclass_rule cimport MulticlassRule
from perceptron_core.sharing.columns cimport SharedColumn
from perceptron_core.weights.example cimport Example
from perceptron_core.weights.touches cimport Touches
from perceptron_core.weights.weight_table cimport WeightTable


@cython.locals(x=Example, names=list)
cpdef Example at_slots(WeightTable table, slots)


@cython.locals(x=Example, row=Py_ssize_t)
cpdef Example at_names(WeightTable table, names)


cpdef drop_zero_rows(WeightTable table, Example x)


@cython.locals(slots="int[::1]", k=Py_ssize_t)
cpdef touched(Touches touches, Py_ssize_t n)


@cython.locals(slots="int[::1]", row=Py_ssize_t)
cpdef slots_of(Example x)


@cython.locals(found="double[::1]", row=Py_ssize_t, slot=int)
cpdef counts(Touches touches, Example x)


cpdef drop_first(Touches touches, Py_ssize_t n)


@cython.locals(row=Py_ssize_t, slot=int)
cpdef touch(Touches touches, Example x, counts, long long n_updates)


@cython.locals(n=Py_ssize_t, slot=Py_ssize_t, column=SharedColumn)
cpdef based(list columns, Py_ssize_t n_slots)


@cython.locals(n_known=Py_ssize_t)
cpdef meet(MulticlassRule learner, label)
