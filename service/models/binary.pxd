# The C types of binary.py, for compiled code.

cdef class BinaryLearner:
    cdef public object model
