# The C types of binary.py, for compiled code.
cimport cython

from perceptron_core.base.linear_rule cimport LinearRule
from perceptron_core.weights.example cimport Example


cdef class BinaryLearner:
    cdef object _model
    cdef LinearRule _rule
    # What `decide_and_learn` and `decide_only` found.
    cdef readonly double last_score
    cdef readonly double last_step

    cdef long long n_updates(self) except? -1

    @cython.locals(example=Example)
    cpdef bint decide_only(self, x) except -1

    @cython.locals(example=Example, sign=int)
    cpdef bint decide_and_learn(self, x, bint truth) except -1

    @cython.locals(example=Example, sign=int)
    cpdef double learn_step(self, x, bint truth) except? -1
