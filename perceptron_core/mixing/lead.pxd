# The C types of lead.py, for compiled code.
cimport cython

from perceptron_core.logistic cimport logistic

cdef double _A_FEW, _OF_LATE_LABELS
cdef Py_ssize_t _AVERAGED, _PROMPT


cdef class Lead:
    cdef Py_ssize_t _n_always
    cdef Py_ssize_t _n_blind
    cdef Py_ssize_t _n_mixers
    cdef readonly Py_ssize_t n
    cdef readonly Py_ssize_t leader
    cdef readonly Py_ssize_t prompt_labels
    cdef public double discount
    cdef public double share
    cdef bint _averages
    cdef double[::1] _losses
    cdef double[::1] _surprises

    cpdef bint is_prompt(self)

    cpdef note(self, double lateness)

    cpdef bint is_mean(self, Py_ssize_t leader)

    @cython.locals(discount=double)
    cpdef judge(self, Py_ssize_t candidate, double loss, double surprise=*)

    @cython.locals(k=Py_ssize_t)
    cpdef choose(self)

    cpdef bint is_in_use(self, Py_ssize_t candidate)

    @cython.locals(k=Py_ssize_t, n=Py_ssize_t)
    cpdef join(self, Py_ssize_t n_learners)
