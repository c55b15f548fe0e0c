# The C types of labels.py, for compiled code.

cdef class Vocabulary:
    cdef public tuple classes
    cdef public bint is_multiclass
    cdef readonly bint is_by_name
    cdef dict _truths

    cpdef truth(self, label)

    cpdef spelling(self, label, tuple current)

    cpdef spell(self, truth, tuple spelling)
